package scheduling

import (
	"cmp"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/resource"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// PodGroup describes the kind PodGroup: pods that are scheduled together.
func PodGroup(gates features.Gates) *api.Resource {
	rules := workloadRules{gates}
	return api.NewResource(api.Kind[*schedulingv1beta1.PodGroup]{
		Names:    api.Names{Name: "podgroups", Singular: "podgroup", Kind: "PodGroup", Namespaced: true},
		Versions: api.Preview[schedulingv1beta1.PodGroup](schedulingv1beta1.SchemeGroupVersion, features.GenericWorkload),
		Default: func(obj *schedulingv1beta1.PodGroup) {
			if obj.Spec.DisruptionMode == nil {
				obj.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
			}
		},
		Storage: api.Storage{Prefix: "podgroups"},
		Create: api.CreateStrategy[*schedulingv1beta1.PodGroup]{
			PrepareForCreate: func(obj *schedulingv1beta1.PodGroup) {
				dropGroupFields(gates, optionalOfGroup(&obj.Spec), optionalOfGroup(&schedulingv1beta1.PodGroupSpec{}))
			},
			ValidateOnCreate: validation.Rules(rules.podGroup),
		},
		Update: api.UpdateStrategy[*schedulingv1beta1.PodGroup]{
			PrepareForUpdate: func(obj, old *schedulingv1beta1.PodGroup) {
				dropGroupFields(gates, optionalOfGroup(&obj.Spec), optionalOfGroup(&old.Spec))
			},
			ValidateUpdate: validation.Changes(rules.podGroupChanges),
		},
		Status: api.StatusStrategy[*schedulingv1beta1.PodGroup]{
			Served: true,
			PrepareForUpdate: func(obj, old *schedulingv1beta1.PodGroup) {
				api.KeepMetadataOf(obj, old)
				if !gates.Enabled(features.DRAWorkloadResourceClaims) && len(old.Spec.ResourceClaims) == 0 {
					obj.Status.ResourceClaimStatuses = nil
				}
			},
			ValidateUpdate: validation.Changes(podGroupStatusChanges),
		},
		Fields: api.Fields[*schedulingv1beta1.PodGroup]{Reset: map[string][]string{"status": {"metadata", "spec"}}},
		Table:  api.Table[*schedulingv1beta1.PodGroup]{Columns: podGroupColumns, Cells: podGroupCells},
	})
}

func podGroupColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		table.NameColumn(),
		table.TextColumn("Policy", table.Doc(schedulingv1beta1.PodGroupSpec{}, "schedulingPolicy")),
		table.TextColumn("Workload", "Name of the referenced Workload object"),
		table.TextColumn("Status", "Status of the PodGroup"),
		table.AgeColumn(),
	}
}

func podGroupCells(g *schedulingv1beta1.PodGroup) []any {
	policy, of := "Basic", table.CellNone
	if g.Spec.SchedulingPolicy.Gang != nil {
		policy = "Gang"
	}
	if ref := g.Spec.WorkloadRef; ref != nil {
		of = ref.WorkloadName
	}
	return []any{g.Name, policy, of, podGroupState(g.Status.Conditions), table.Age(g)}
}

// podGroupState returns the cell Status: whether the group was scheduled or disrupted.
func podGroupState(conditions []metav1.Condition) string {
	state, ending := "Pending", ""
	for _, c := range conditions {
		switch c.Type {
		case schedulingv1beta1.PodGroupInitiallyScheduled:
			state = "Unschedulable"
			if c.Status == metav1.ConditionTrue {
				state = "Scheduled"
			}
		case schedulingv1beta1.DisruptionTarget:
			ending = c.Reason
		}
	}
	return cmp.Or(ending, state)
}

// maxGroupStatuses is the maximum number of claim statuses of a pod group.
const maxGroupStatuses = schedulingv1beta1.MaxPodGroupResourceClaims

// workloadRules validates workloads and pod groups, whose optional fields depend on feature
// gates.
type workloadRules struct {
	gates features.Gates
}

func (r workloadRules) workload(at *validation.Path, w *schedulingv1beta1.Workload) {
	spec := at.Child("spec")
	validation.IfPresent(spec.Child("controllerRef"), w.Spec.ControllerRef, func(at *validation.Path, ref *schedulingv1beta1.TypedLocalObjectReference) {
		validation.OptionalFormat(at.Child("apiGroup"), ref.APIGroup, validation.DNSSubdomain)
		validation.RequiredFormat(at.Child("kind"), ref.Kind, validation.Segment)
		validation.RequiredFormat(at.Child("name"), ref.Name, validation.Segment)
	})
	templates := spec.Child("podGroupTemplates")
	switch n := len(w.Spec.PodGroupTemplates); {
	case n == 0:
		templates.Required("")
	case n > schedulingv1beta1.WorkloadMaxPodGroupTemplates:
		templates.TooMany(n, schedulingv1beta1.WorkloadMaxPodGroupTemplates)
	default:
		validation.UniqueKeys(templates, w.Spec.PodGroupTemplates, func(t *schedulingv1beta1.PodGroupTemplate) string { return t.Name })
		validation.Each(templates, w.Spec.PodGroupTemplates, r.template)
	}
}

func (workloadRules) workloadChanges(at *validation.Path, obj, old *schedulingv1beta1.Workload) {
	spec := at.Child("spec")
	validation.DeclarativeImmutable(spec.Child("controllerRef"), obj.Spec.ControllerRef, old.Spec.ControllerRef)
	validation.DeclarativeImmutable(spec.Child("podGroupTemplates"), obj.Spec.PodGroupTemplates, old.Spec.PodGroupTemplates)
}

func (r workloadRules) template(at *validation.Path, t *schedulingv1beta1.PodGroupTemplate) {
	validation.RequiredFormat(at.Child("name"), t.Name, validation.DNSLabel)
	schedulingPolicyRules(at.Child("schedulingPolicy"), &t.SchedulingPolicy)
	r.gatedFields(at, optionalOfTemplate(t))
}

func schedulingPolicyRules(at *validation.Path, p *schedulingv1beta1.PodGroupSchedulingPolicy) {
	validation.Union(at, validation.UnionMember{Name: "basic", Set: p.Basic != nil}, validation.UnionMember{Name: "gang", Set: p.Gang != nil})
	if p.Gang != nil {
		if count := at.Child("gang").Child("minCount"); validation.Required(count, p.Gang.MinCount) {
			validation.Minimum(count, p.Gang.MinCount, 1)
		}
	}
}

// gatedFields validates the fields that have a feature gate, in the order of the types.
func (r workloadRules) gatedFields(at *validation.Path, f optionalGroupFields) {
	if at := at.Child("schedulingConstraints"); *f.constraints != nil && r.requireGate(at, features.TopologyAwareWorkloadScheduling) {
		resource.EachUpTo(at.Child("topology"), (*f.constraints).Topology, 1, func(at *validation.Path, c *schedulingv1beta1.TopologyConstraint) {
			validation.RequiredFormat(at.Child("key"), c.Key, validation.QualifiedName)
		})
	}
	claimReferenceRules(at.Child("resourceClaims"), *f.claims)
	validation.IfPresent(at.Child("disruptionMode"), *f.disruption, func(at *validation.Path, m *schedulingv1beta1.DisruptionMode) {
		validation.Union(at, validation.UnionMember{Name: "single", Set: m.Single != nil}, validation.UnionMember{Name: "all", Set: m.All != nil})
	})
	validation.OptionalFormat(at.Child("priorityClassName"), *f.class, validation.DNSSubdomain)
	validation.IfPresent(at.Child("priority"), *f.priority, func(at *validation.Path, priority *int32) {
		validation.Maximum(at, *priority, maxUserPriority)
	})
}

// requireGate refuses a field whose feature gate is disabled.
func (r workloadRules) requireGate(at *validation.Path, gate string) bool {
	if r.gates.Enabled(gate) {
		return true
	}
	at.Forbidden("")
	return false
}

func claimReferenceRules(at *validation.Path, claims []schedulingv1beta1.PodGroupResourceClaim) {
	if n := len(claims); n > schedulingv1beta1.MaxPodGroupResourceClaims {
		at.TooMany(n, schedulingv1beta1.MaxPodGroupResourceClaims)
		return
	}
	validation.UniqueKeys(at, claims, func(c *schedulingv1beta1.PodGroupResourceClaim) string { return c.Name })
	validation.Each(at, claims, func(at *validation.Path, c *schedulingv1beta1.PodGroupResourceClaim) {
		validation.Union(at, validation.UnionMember{Name: "resourceClaimName", Set: c.ResourceClaimName != nil}, validation.UnionMember{Name: "resourceClaimTemplateName", Set: c.ResourceClaimTemplateName != nil})
		validation.RequiredFormat(at.Child("name"), c.Name, validation.DNSLabel)
		validation.IfPresent(at.Child("resourceClaimName"), c.ResourceClaimName, subdomainAt)
		validation.IfPresent(at.Child("resourceClaimTemplateName"), c.ResourceClaimTemplateName, subdomainAt)
	})
}

// subdomainAt validates an optional name.
func subdomainAt(at *validation.Path, name *string) {
	validation.Format(at, *name, validation.DNSSubdomain)
}

func (r workloadRules) podGroup(at *validation.Path, g *schedulingv1beta1.PodGroup) {
	spec := at.Child("spec")
	validation.IfPresent(spec.Child("workloadRef"), g.Spec.WorkloadRef, func(at *validation.Path, ref *schedulingv1beta1.WorkloadReference) {
		validation.RequiredFormat(at.Child("workloadName"), ref.WorkloadName, validation.DNSSubdomain)
		validation.RequiredFormat(at.Child("templateName"), ref.TemplateName, validation.DNSLabel)
	})
	schedulingPolicyRules(spec.Child("schedulingPolicy"), &g.Spec.SchedulingPolicy)
	r.gatedFields(spec, optionalOfGroup(&g.Spec))
}

// podGroupChanges validates an update of a group, which is immutable.
func (r workloadRules) podGroupChanges(at *validation.Path, obj, old *schedulingv1beta1.PodGroup) {
	at, a, b := at.Child("spec"), &obj.Spec, &old.Spec
	validation.DeclarativeImmutable(at.Child("workloadRef"), a.WorkloadRef, b.WorkloadRef)
	validation.DeclarativeImmutable(at.Child("schedulingPolicy"), a.SchedulingPolicy, b.SchedulingPolicy)
	gatedImmutable(r, at.Child("schedulingConstraints"), features.TopologyAwareWorkloadScheduling, a.SchedulingConstraints, b.SchedulingConstraints)
	validation.DeclarativeImmutable(at.Child("resourceClaims"), a.ResourceClaims, b.ResourceClaims)
	validation.DeclarativeImmutable(at.Child("disruptionMode"), a.DisruptionMode, b.DisruptionMode)
	validation.DeclarativeImmutable(at.Child("priorityClassName"), a.PriorityClassName, b.PriorityClassName)
	validation.DeclarativeImmutable(at.Child("priority"), a.Priority, b.Priority)
}

// gatedImmutable refuses a change of a field. If its gate is disabled, the field can be
// removed, and another value is forbidden.
func gatedImmutable[T any](r workloadRules, at *validation.Path, gate string, obj, old T) {
	var none T
	switch {
	case equality.Semantic.DeepEqual(obj, old):
	case r.gates.Enabled(gate):
		validation.DeclarativeImmutable(at, obj, old)
	case !equality.Semantic.DeepEqual(obj, none):
		at.Forbidden("")
	}
}

func podGroupStatusChanges(at *validation.Path, obj, old *schedulingv1beta1.PodGroup) {
	status, s := at.Child("status"), &obj.Status
	validation.ConditionRules(status.Child("conditions"), s.Conditions)
	claims := status.Child("resourceClaimStatuses")
	names := map[string]bool{}
	for _, c := range obj.Spec.ResourceClaims {
		names[c.Name] = true
	}
	validation.Each(claims, s.ResourceClaimStatuses, func(at *validation.Path, c *schedulingv1beta1.PodGroupResourceClaimStatus) {
		if !names[c.Name] {
			at.Child("name").Invalid(c.Name, "must match the name of an entry in `spec.resourceClaims`")
		}
	})
	if equality.Semantic.DeepEqual(s.ResourceClaimStatuses, old.Status.ResourceClaimStatuses) {
		return
	}
	if n := len(s.ResourceClaimStatuses); n > maxGroupStatuses {
		claims.TooMany(n, maxGroupStatuses)
		return
	}
	validation.UniqueKeys(claims, s.ResourceClaimStatuses, func(c *schedulingv1beta1.PodGroupResourceClaimStatus) string { return c.Name })
	validation.Each(claims, s.ResourceClaimStatuses, func(at *validation.Path, c *schedulingv1beta1.PodGroupResourceClaimStatus) {
		validation.IfPresent(at.Child("resourceClaimName"), c.ResourceClaimName, subdomainAt)
	})
}
