package scheduling

import (
	"fmt"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Workload describes the kind Workload: templates of pod groups, or a tree of templates of
// composite pod groups. The markers of its Go type state most rules.
func Workload(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*schedulingv1beta1.Workload]{
		Names: api.Names{Name: "workloads", Singular: "workload", Kind: "Workload", Namespaced: true},
		Versions: api.WithOlderVersions(api.Preview[schedulingv1beta1.Workload](schedulingv1beta1.SchemeGroupVersion, features.GenericWorkload),
			api.SameFields[schedulingv1beta1.Workload, schedulingv1alpha3.Workload](schedulingv1alpha3.SchemeGroupVersion)),
		Storage: api.Storage{Prefix: "workloads"},
		Create: api.CreateStrategy[*schedulingv1beta1.Workload]{
			PrepareForCreate: func(obj *schedulingv1beta1.Workload) { dropFromWorkload(gates, &obj.Spec, nil) },
			Validate:         validation.Rules(workloadRules),
		},
		Update: api.UpdateStrategy[*schedulingv1beta1.Workload]{
			PrepareForUpdate: func(obj, old *schedulingv1beta1.Workload) { dropFromWorkload(gates, &obj.Spec, &old.Spec) },
		},
		Table: api.NameAndAge[*schedulingv1beta1.Workload](),
	})
}

// dropFromWorkload removes fields of disabled features, unless the stored template at the same
// index has them.
func dropFromWorkload(gates features.Gates, spec, stored *schedulingv1beta1.WorkloadSpec) {
	if stored == nil {
		stored = &schedulingv1beta1.WorkloadSpec{}
	}
	if !gates.Enabled(features.CompositePodGroup) && len(stored.CompositePodGroupTemplates) == 0 {
		spec.CompositePodGroupTemplates = nil
	}
	dropFromTemplates(gates, spec.PodGroupTemplates, stored.PodGroupTemplates)
	dropFromComposites(gates, spec.CompositePodGroupTemplates, stored.CompositePodGroupTemplates)
}

func dropFromTemplates(gates features.Gates, templates, stored []schedulingv1beta1.PodGroupTemplate) {
	for i := range templates {
		old := &schedulingv1beta1.PodGroupTemplate{}
		if i < len(stored) {
			old = &stored[i]
		}
		dropGroupFields(gates, optionalOfTemplate(&templates[i]), optionalOfTemplate(old))
	}
}

func dropFromComposites(gates features.Gates, templates, stored []schedulingv1beta1.CompositePodGroupTemplate) {
	for i := range templates {
		t, old := &templates[i], &schedulingv1beta1.CompositePodGroupTemplate{}
		if i < len(stored) {
			old = &stored[i]
		}
		if !gates.Enabled(features.PodGroupPreemptionPolicy) && old.PreemptionPolicy == nil {
			t.PreemptionPolicy = nil
		}
		dropFromTemplates(gates, t.PodGroupTemplates, old.PodGroupTemplates)
		dropFromComposites(gates, t.CompositePodGroupTemplates, old.CompositePodGroupTemplates)
	}
}

// optionalGroupFields has the fields of a pod group, or of a template of one, that have a
// feature gate.
type optionalGroupFields struct {
	constraints **schedulingv1beta1.PodGroupSchedulingConstraints
	claims      *[]schedulingv1beta1.PodGroupResourceClaim
	preemption  **schedulingv1beta1.PreemptionPolicy
}

func optionalOfTemplate(t *schedulingv1beta1.PodGroupTemplate) optionalGroupFields {
	return optionalGroupFields{&t.SchedulingConstraints, &t.ResourceClaims, &t.PreemptionPolicy}
}

func optionalOfGroup(s *schedulingv1beta1.PodGroupSpec) optionalGroupFields {
	return optionalGroupFields{&s.SchedulingConstraints, &s.ResourceClaims, &s.PreemptionPolicy}
}

func dropGroupFields(gates features.Gates, obj, old optionalGroupFields) {
	if !gates.Enabled(features.TopologyAwareWorkloadScheduling) && *old.constraints == nil {
		*obj.constraints = nil
	}
	if !gates.Enabled(features.DRAWorkloadResourceClaims) && len(*old.claims) == 0 {
		*obj.claims = nil
	}
	if !gates.Enabled(features.PodGroupPreemptionPolicy) && *old.preemption == nil {
		*obj.preemption = nil
	}
}

// workloadRules validates the tree of templates: names are unique, the tree is not too deep, and
// all templates have the same priority.
func workloadRules(at *validation.Path, w *schedulingv1beta1.Workload) {
	spec := at.Child("spec")
	composites := spec.Child("compositePodGroupTemplates")
	if len(w.Spec.PodGroupTemplates) == 0 {
		templateNames{}.composites(composites, w.Spec.CompositePodGroupTemplates)
	}
	for i := range w.Spec.CompositePodGroupTemplates {
		if c := &w.Spec.CompositePodGroupTemplates[i]; depthOf(c) >= schedulingv1beta1.WorkloadMaxTreeDepth {
			composites.Index(i).Invalid(c.CompositePodGroupTemplates, fmt.Sprintf("maximum template hierarchy depth is %d", schedulingv1beta1.WorkloadMaxTreeDepth))
		}
	}
	priorities := prioritiesOf(w.Spec.PodGroupTemplates, w.Spec.CompositePodGroupTemplates)
	for _, p := range priorities {
		if p != priorities[0] {
			spec.Invalid(nil, "detected multiple priority configurations")
			return
		}
	}
}

// templateNames maps the names of templates to the list that has them. Markers report names that
// are twice in one list.
type templateNames map[string]string

func (n templateNames) add(at *validation.Path, name string) {
	list := at.Parent.ToField().String()
	if other, ok := n[name]; ok && other != list {
		at.Child("name").Duplicate(name)
		return
	}
	n[name] = list
}

func (n templateNames) composites(at *validation.Path, templates []schedulingv1beta1.CompositePodGroupTemplate) {
	validation.Each(at, templates, func(at *validation.Path, t *schedulingv1beta1.CompositePodGroupTemplate) {
		n.add(at, t.Name)
		n.composites(at.Child("compositePodGroupTemplates"), t.CompositePodGroupTemplates)
		validation.Each(at.Child("podGroupTemplates"), t.PodGroupTemplates, func(at *validation.Path, t *schedulingv1beta1.PodGroupTemplate) {
			n.add(at, t.Name)
		})
	})
}

// depthOf returns the number of composite templates on the longest path down from t.
func depthOf(t *schedulingv1beta1.CompositePodGroupTemplate) int {
	depth := 0
	for i := range t.CompositePodGroupTemplates {
		depth = max(depth, depthOf(&t.CompositePodGroupTemplates[i]))
	}
	return depth + 1
}

// templatePriority is the priority of the groups of a template.
type templatePriority struct {
	class    string
	hasValue bool
	value    int32
}

func templatePriorityOf(class string, value *int32) templatePriority {
	return templatePriority{class, value != nil, table.ValueOrZero(value)}
}

func prioritiesOf(groups []schedulingv1beta1.PodGroupTemplate, composites []schedulingv1beta1.CompositePodGroupTemplate) []templatePriority {
	var found []templatePriority
	for i := range groups {
		found = append(found, templatePriorityOf(groups[i].PriorityClassName, groups[i].Priority))
	}
	for i := range composites {
		c := &composites[i]
		found = append(found, templatePriorityOf(c.PriorityClassName, c.Priority))
		found = append(found, prioritiesOf(c.PodGroupTemplates, c.CompositePodGroupTemplates)...)
	}
	return found
}
