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
func Workload() *api.Resource {
	return api.NewResource(api.Kind[*schedulingv1beta1.Workload]{
		Names: api.Names{Name: "workloads", Singular: "workload", Kind: "Workload", Namespaced: true},
		Versions: api.WithOlderVersions(api.Preview[schedulingv1beta1.Workload](schedulingv1beta1.SchemeGroupVersion, features.GenericWorkload),
			api.SameFields[schedulingv1beta1.Workload, schedulingv1alpha3.Workload](schedulingv1alpha3.SchemeGroupVersion)),
		Storage:                api.Storage{Prefix: "workloads"},
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.Metadata,
			api.Rules(workloadRules),
			api.Declared,
		),
		Table: api.NameAndAge[*schedulingv1beta1.Workload](),
	})
}

// workloadRules validates the tree of templates: names are unique, the tree is not too deep, all
// templates have the same priority, and composite ones have others below them.
func workloadRules(at *validation.Path, w *schedulingv1beta1.Workload) {
	spec := at.Child("spec")
	composites := spec.Child("compositePodGroupTemplates")
	names := templateNames{}
	names.groups(spec.Child("podGroupTemplates"), w.Spec.PodGroupTemplates)
	names.composites(composites, w.Spec.CompositePodGroupTemplates)
	for i := range w.Spec.CompositePodGroupTemplates {
		if c := &w.Spec.CompositePodGroupTemplates[i]; depthOf(c) >= schedulingv1beta1.WorkloadMaxTreeDepth {
			composites.Index(i).Invalid(c.CompositePodGroupTemplates,
				fmt.Sprintf("maximum template hierarchy depth is %d", schedulingv1beta1.WorkloadMaxTreeDepth))
		}
	}
	priorityRules(spec, &w.Spec)
	childRules(composites, w.Spec.CompositePodGroupTemplates)
}

// priorityRules validates that all templates have the same priority. The text depends on the list with the
// first other one, as in kube-apiserver.
func priorityRules(spec *validation.Path, s *schedulingv1beta1.WorkloadSpec) {
	priorities := prioritiesOf(s.PodGroupTemplates, s.CompositePodGroupTemplates)
	for i, p := range priorities {
		switch {
		case p == priorities[0]:
			continue
		case i < len(s.PodGroupTemplates):
			spec.Invalid(nil, "detected multiple priority configurations")
		default:
			spec.Invalid(nil, "all priority and priorityClassName values must be identical, detected multiple values")
		}
		return
	}
}

// childRules validates that composite templates have others below them.
func childRules(at *validation.Path, templates []schedulingv1beta1.CompositePodGroupTemplate) {
	validation.Each(at, templates, func(at *validation.Path, t *schedulingv1beta1.CompositePodGroupTemplate) {
		if len(t.PodGroupTemplates)+len(t.CompositePodGroupTemplates) == 0 {
			at.Invalid(t.Name, "must have at least one child PodGroupTemplate or CompositePodGroupTemplate")
		}
		childRules(at.Child("compositePodGroupTemplates"), t.CompositePodGroupTemplates)
	})
}

// templateNames are the names in the lists of templates so far. Markers report names that are twice in
// one list.
type templateNames map[string]bool

// add reports the names of a list of n templates that an earlier list has.
func (t templateNames) add(at *validation.Path, n int, name func(i int) string) {
	for i := range n {
		if t[name(i)] {
			at.Index(i).Child("name").Duplicate(name(i))
		}
	}
	for i := range n {
		t[name(i)] = true
	}
}

func (t templateNames) groups(at *validation.Path, templates []schedulingv1beta1.PodGroupTemplate) {
	t.add(at, len(templates), func(i int) string { return templates[i].Name })
}

func (t templateNames) composites(at *validation.Path, templates []schedulingv1beta1.CompositePodGroupTemplate) {
	t.add(at, len(templates), func(i int) string { return templates[i].Name })
	validation.Each(at, templates, func(at *validation.Path, c *schedulingv1beta1.CompositePodGroupTemplate) {
		t.groups(at.Child("podGroupTemplates"), c.PodGroupTemplates)
		t.composites(at.Child("compositePodGroupTemplates"), c.CompositePodGroupTemplates)
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

func prioritiesOf(groups []schedulingv1beta1.PodGroupTemplate,
	composites []schedulingv1beta1.CompositePodGroupTemplate) []templatePriority {
	var found []templatePriority
	for i := range groups {
		found = append(found, templatePriorityOf(groups[i].PriorityClassName, groups[i].Priority))
	}
	for i := range composites {
		c := &composites[i]
		found = append(found, templatePriorityOf(c.PriorityClassName, c.Priority))
		found = append(found, prioritiesOf(nil, c.CompositePodGroupTemplates)...)
		found = append(found, prioritiesOf(c.PodGroupTemplates, nil)...)
	}
	return found
}
