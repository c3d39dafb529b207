package api

import (
	"math"

	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// maxGroupStatuses bounds the statuses of claims of a pod group.
const maxGroupStatuses = schedulingv1alpha2.MaxPodGroupResourceClaims

// workloadRules are those of workloads and pod groups, by the gates of their fields.
type workloadRules struct {
	gates features.Gates
}

func (r workloadRules) workload(at *place, w *schedulingv1alpha2.Workload) {
	spec := at.of("spec")
	present(spec.of("controllerRef"), w.Spec.ControllerRef, func(at *place, ref *schedulingv1alpha2.TypedLocalObjectReference) {
		optional(at.of("apiGroup"), ref.APIGroup, dnsSubdomain)
		needs(at.of("kind"), ref.Kind, segment)
		needs(at.of("name"), ref.Name, segment)
	})
	templates := spec.of("podGroupTemplates")
	switch n := len(w.Spec.PodGroupTemplates); {
	case n == 0:
		templates.required("")
	case n > schedulingv1alpha2.WorkloadMaxPodGroupTemplates:
		templates.tooMany(n, schedulingv1alpha2.WorkloadMaxPodGroupTemplates)
	default:
		onceEach(templates, w.Spec.PodGroupTemplates, func(t *schedulingv1alpha2.PodGroupTemplate) string { return t.Name })
		each(templates, w.Spec.PodGroupTemplates, r.template)
	}
}

func (workloadRules) workloadChanges(at *place, is, was *schedulingv1alpha2.Workload) {
	spec := at.of("spec")
	neverChanged(spec.of("controllerRef"), is.Spec.ControllerRef, was.Spec.ControllerRef)
	neverChanged(spec.of("podGroupTemplates"), is.Spec.PodGroupTemplates, was.Spec.PodGroupTemplates)
}

func (r workloadRules) template(at *place, t *schedulingv1alpha2.PodGroupTemplate) {
	needs(at.of("name"), t.Name, dnsLabel)
	schedulingPolicyRules(at.of("schedulingPolicy"), &t.SchedulingPolicy)
	r.optional(at, optionalOfTemplate(t))
}

func schedulingPolicyRules(at *place, p *schedulingv1alpha2.PodGroupSchedulingPolicy) {
	union(at, unionMember{"basic", p.Basic != nil}, unionMember{"gang", p.Gang != nil})
	if p.Gang != nil {
		if count := at.of("gang").of("minCount"); required(count, p.Gang.MinCount) {
			atLeast(count, p.Gang.MinCount, 1)
		}
	}
}

// optional checks the fields that need a gate, in the order of the types.
func (r workloadRules) optional(at *place, f optionalGroupFields) {
	if at := at.of("schedulingConstraints"); *f.constraints != nil && r.allowed(at, features.TopologyAwareWorkloadScheduling) {
		some(at.of("topology"), (*f.constraints).Topology, 1, func(at *place, c *schedulingv1alpha2.TopologyConstraint) {
			needs(at.of("key"), c.Key, qualifiedName)
		})
	}
	claimReferenceRules(at.of("resourceClaims"), *f.claims)
	if at := at.of("disruptionMode"); *f.disruption != nil && r.allowed(at, features.WorkloadAwarePreemption) {
		oneOf(at, **f.disruption, schedulingv1alpha2.DisruptionModePod, schedulingv1alpha2.DisruptionModePodGroup)
	}
	if at := at.of("priorityClassName"); *f.class != "" && r.allowed(at, features.WorkloadAwarePreemption) {
		format(at, *f.class, dnsSubdomain)
	}
	if at := at.of("priority"); *f.priority != nil && r.allowed(at, features.WorkloadAwarePreemption) {
		atMost(at, **f.priority, maxUserPriority)
		atLeast(at, **f.priority, math.MinInt32)
	}
}

// allowed refuses a field whose gate is off.
func (r workloadRules) allowed(at *place, gate string) bool {
	if r.gates.Enabled(gate) {
		return true
	}
	at.forbidden("")
	return false
}

func claimReferenceRules(at *place, claims []schedulingv1alpha2.PodGroupResourceClaim) {
	if n := len(claims); n > schedulingv1alpha2.MaxPodGroupResourceClaims {
		at.tooMany(n, schedulingv1alpha2.MaxPodGroupResourceClaims)
		return
	}
	onceEach(at, claims, func(c *schedulingv1alpha2.PodGroupResourceClaim) string { return c.Name })
	each(at, claims, func(at *place, c *schedulingv1alpha2.PodGroupResourceClaim) {
		union(at, unionMember{"resourceClaimName", c.ResourceClaimName != nil}, unionMember{"resourceClaimTemplateName", c.ResourceClaimTemplateName != nil})
		needs(at.of("name"), c.Name, dnsLabel)
		present(at.of("resourceClaimName"), c.ResourceClaimName, subdomainAt)
		present(at.of("resourceClaimTemplateName"), c.ResourceClaimTemplateName, subdomainAt)
	})
}

// subdomainAt is for an optional name.
func subdomainAt(at *place, name *string) { format(at, *name, dnsSubdomain) }

func (r workloadRules) podGroup(at *place, g *schedulingv1alpha2.PodGroup) {
	spec := at.of("spec")
	present(spec.of("podGroupTemplateRef"), g.Spec.PodGroupTemplateRef, func(at *place, ref *schedulingv1alpha2.PodGroupTemplateReference) {
		union(at, unionMember{"workload", ref.Workload != nil})
		present(at.of("workload"), ref.Workload, func(at *place, ref *schedulingv1alpha2.WorkloadPodGroupTemplateReference) {
			needs(at.of("workloadName"), ref.WorkloadName, dnsSubdomain)
			needs(at.of("podGroupTemplateName"), ref.PodGroupTemplateName, dnsLabel)
		})
	})
	schedulingPolicyRules(spec.of("schedulingPolicy"), &g.Spec.SchedulingPolicy)
	r.optional(spec, optionalOfGroup(&g.Spec))
}

// podGroupChanges: nothing of a group changes. A field whose gate is off is not even
// to be named.
func (r workloadRules) podGroupChanges(at *place, is, was *schedulingv1alpha2.PodGroup) {
	at, a, b := at.of("spec"), &is.Spec, &was.Spec
	neverChanged(at.of("podGroupTemplateRef"), a.PodGroupTemplateRef, b.PodGroupTemplateRef)
	neverChanged(at.of("schedulingPolicy"), a.SchedulingPolicy, b.SchedulingPolicy)
	gated(r, at.of("schedulingConstraints"), features.TopologyAwareWorkloadScheduling, a.SchedulingConstraints, b.SchedulingConstraints)
	neverChanged(at.of("resourceClaims"), a.ResourceClaims, b.ResourceClaims)
	gated(r, at.of("disruptionMode"), features.WorkloadAwarePreemption, a.DisruptionMode, b.DisruptionMode)
	gated(r, at.of("priorityClassName"), features.WorkloadAwarePreemption, a.PriorityClassName, b.PriorityClassName)
	gated(r, at.of("priority"), features.WorkloadAwarePreemption, a.Priority, b.Priority)
}

// gated refuses a change of a field: with its gate off a new value is forbidden, and
// no value is no fault.
func gated[T any](r workloadRules, at *place, gate string, is, was T) {
	var none T
	switch {
	case equality.Semantic.DeepEqual(is, was):
	case r.gates.Enabled(gate):
		neverChanged(at, is, was)
	case !equality.Semantic.DeepEqual(is, none):
		at.forbidden("")
	}
}

func podGroupStatusChanges(at *place, is, was *schedulingv1alpha2.PodGroup) {
	status, s := at.of("status"), &is.Status
	conditionRules(status.of("conditions"), s.Conditions)
	claims := status.of("resourceClaimStatuses")
	names := map[string]bool{}
	for _, c := range is.Spec.ResourceClaims {
		names[c.Name] = true
	}
	each(claims, s.ResourceClaimStatuses, func(at *place, c *schedulingv1alpha2.PodGroupResourceClaimStatus) {
		if !names[c.Name] {
			at.of("name").invalid(c.Name, "must match the name of an entry in `spec.resourceClaims`")
		}
	})
	if equality.Semantic.DeepEqual(s.ResourceClaimStatuses, was.Status.ResourceClaimStatuses) {
		return
	}
	if n := len(s.ResourceClaimStatuses); n > maxGroupStatuses {
		claims.tooMany(n, maxGroupStatuses)
		return
	}
	onceEach(claims, s.ResourceClaimStatuses, func(c *schedulingv1alpha2.PodGroupResourceClaimStatus) string { return c.Name })
	each(claims, s.ResourceClaimStatuses, func(at *place, c *schedulingv1alpha2.PodGroupResourceClaimStatus) {
		present(at.of("resourceClaimName"), c.ResourceClaimName, subdomainAt)
	})
}
