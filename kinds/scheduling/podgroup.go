package scheduling

import (
	"cmp"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// PodGroup describes the kind PodGroup: pods that are scheduled together. The markers of its Go
// type state the rules of its spec.
func PodGroup() *api.Resource {
	return api.NewResource(api.Kind[*schedulingv1beta1.PodGroup]{
		Names: api.Names{Name: "podgroups", Singular: "podgroup", Kind: "PodGroup", Namespaced: true},
		Versions: api.WithOlderVersions(api.Preview[schedulingv1beta1.PodGroup](schedulingv1beta1.SchemeGroupVersion, features.GenericWorkload),
			api.SameFields[schedulingv1beta1.PodGroup, schedulingv1alpha3.PodGroup](schedulingv1alpha3.SchemeGroupVersion)),
		Default: func(obj *schedulingv1beta1.PodGroup) {
			if obj.Spec.DisruptionMode == nil {
				obj.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
			}
		},
		Storage:                api.Storage{Prefix: "podgroups"},
		RequireResourceVersion: true,
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.Metadata, api.Changes(podGroupStatusChanges), api.Declared,
		),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(podGroupRow),
	})
}

func podGroupRow(row *table.Row, g *schedulingv1beta1.PodGroup) {
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
	row.Text("Status", "Status of the PodGroup", podGroupState(g.Status.Conditions))
	row.Age(g)
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

func podGroupStatusChanges(at *validation.Path, obj, _ *schedulingv1beta1.PodGroup) {
	status, s := at.Child("status"), &obj.Status
	validation.ConditionRules(status.Child("conditions"), s.Conditions)
	names := map[string]bool{}
	for _, c := range obj.Spec.ResourceClaims {
		names[c.Name] = true
	}
	validation.Each(status.Child("resourceClaimStatuses"), s.ResourceClaimStatuses,
		func(at *validation.Path, c *schedulingv1beta1.PodGroupResourceClaimStatus) {
			if !names[c.Name] {
				at.Child("name").Invalid(c.Name, "must match the name of an entry in `spec.resourceClaims`")
			}
		})
}
