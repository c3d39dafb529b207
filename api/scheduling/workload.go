package scheduling

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Workload describes the kind Workload: templates of pod groups.
func Workload(gates features.Gates) *api.Resource {
	rules := workloadRules{gates}
	return api.NewResource(api.Kind[*schedulingv1beta1.Workload]{
		Names:    api.Names{Name: "workloads", Singular: "workload", Kind: "Workload", Namespaced: true},
		Versions: api.Preview[schedulingv1beta1.Workload](schedulingv1beta1.SchemeGroupVersion, features.GenericWorkload),
		Storage:  api.Storage{Prefix: "workloads"},
		Create: api.CreateStrategy[*schedulingv1beta1.Workload]{
			PrepareForCreate: func(obj *schedulingv1beta1.Workload) { dropFromTemplates(gates, obj, nil) },
			ValidateOnCreate: validation.Rules(rules.workload),
		},
		Update: api.UpdateStrategy[*schedulingv1beta1.Workload]{
			PrepareForUpdate: func(obj, old *schedulingv1beta1.Workload) {
				dropFromTemplates(gates, obj, old)
			},
			ValidateUpdate: validation.Changes(rules.workloadChanges),
		},
		Table: api.NameAndAge[*schedulingv1beta1.Workload](),
	})
}

// dropFromTemplates removes fields of disabled features, unless the stored template at the
// same index has them.
func dropFromTemplates(gates features.Gates, obj, stored *schedulingv1beta1.Workload) {
	for i := range obj.Spec.PodGroupTemplates {
		t, old := &obj.Spec.PodGroupTemplates[i], &schedulingv1beta1.PodGroupTemplate{}
		if stored != nil && i < len(stored.Spec.PodGroupTemplates) {
			old = &stored.Spec.PodGroupTemplates[i]
		}
		dropGroupFields(gates, optionalOfTemplate(t), optionalOfTemplate(old))
	}
}

// optionalGroupFields has the fields of a pod group, or of a template of one, that have a
// feature gate.
type optionalGroupFields struct {
	constraints **schedulingv1beta1.PodGroupSchedulingConstraints
	claims      *[]schedulingv1beta1.PodGroupResourceClaim
	disruption  **schedulingv1beta1.DisruptionMode
	class       *string
	priority    **int32
}

func optionalOfTemplate(t *schedulingv1beta1.PodGroupTemplate) optionalGroupFields {
	return optionalGroupFields{&t.SchedulingConstraints, &t.ResourceClaims, &t.DisruptionMode, &t.PriorityClassName, &t.Priority}
}

func optionalOfGroup(s *schedulingv1beta1.PodGroupSpec) optionalGroupFields {
	return optionalGroupFields{&s.SchedulingConstraints, &s.ResourceClaims, &s.DisruptionMode, &s.PriorityClassName, &s.Priority}
}

func dropGroupFields(gates features.Gates, obj, old optionalGroupFields) {
	if !gates.Enabled(features.TopologyAwareWorkloadScheduling) && *old.constraints == nil {
		*obj.constraints = nil
	}
	if !gates.Enabled(features.DRAWorkloadResourceClaims) && len(*old.claims) == 0 {
		*obj.claims = nil
	}
}
