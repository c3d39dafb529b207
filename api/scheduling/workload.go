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
		Storage: api.Storage{Prefix: "workloads"},
		Create: api.CreateStrategy[*schedulingv1beta1.Workload]{
			Validate: validation.Rules(workloadRules),
		},
		Update: api.UpdateStrategy[*schedulingv1beta1.Workload]{RequireResourceVersion: true},
		Table:  api.NameAndAge[*schedulingv1beta1.Workload](),
	})
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
