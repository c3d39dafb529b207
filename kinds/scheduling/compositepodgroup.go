package scheduling

import (
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// CompositePodGroup describes the kind CompositePodGroup: groups of pod groups that are scheduled
// together. The markers of its Go type state the rules of its spec.
func CompositePodGroup() *api.Resource {
	return api.NewResource(api.Kind[*schedulingv1alpha3.CompositePodGroup]{
		Names:    api.Names{Name: "compositepodgroups", Singular: "compositepodgroup", Kind: "CompositePodGroup", Namespaced: true},
		Versions: api.Preview[schedulingv1alpha3.CompositePodGroup](schedulingv1alpha3.SchemeGroupVersion, features.CompositePodGroup),
		Default: func(obj *schedulingv1alpha3.CompositePodGroup) {
			if obj.Spec.DisruptionMode == nil {
				obj.Spec.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{Single: &schedulingv1alpha3.SingleCompositeDisruptionMode{}}
			}
		},
		Storage:                api.Storage{Prefix: "compositepodgroups"},
		RequireResourceVersion: true,
		Status: api.NewStatus(api.KeepMetadataOf,
			api.Metadata,
			api.Changes(func(at *validation.Path, obj, _ *schedulingv1alpha3.CompositePodGroup) {
				validation.ConditionRules(at.Child("status").Child("conditions"), obj.Status.Conditions)
			}),
			api.Declared,
		),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(compositePodGroupRow),
	})
}

func compositePodGroupRow(row *table.Row, g *schedulingv1alpha3.CompositePodGroup) {
	policy, workload := "Basic", table.CellNone
	if g.Spec.SchedulingPolicy.Gang != nil {
		policy = "Gang"
	}
	if ref := g.Spec.WorkloadRef; ref != nil {
		workload = ref.WorkloadName
	}
	row.Name(g.Name)
	row.Text("Policy", ".spec.schedulingPolicy", policy)
	row.Text("Workload", "Name of the referenced Workload object", workload)
	row.Age(g)
}
