package scheduling

import (
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Workload describes the kind Workload: templates of pod groups.
func Workload(gates features.Gates) *api.Resource {
	rules := workloadRules{gates}
	return api.NewResource(api.Kind[*schedulingv1alpha2.Workload]{
		Names:    api.Names{Name: "workloads", Singular: "workload", Kind: "Workload", Namespaced: true},
		Versions: api.Preview[schedulingv1alpha2.Workload](schedulingv1alpha2.SchemeGroupVersion, features.GenericWorkload),
		Storage:  api.Storage{Prefix: "workloads"},
		Create: api.CreateStrategy[*schedulingv1alpha2.Workload]{
			PrepareForCreate: func(obj *schedulingv1alpha2.Workload) { dropFromTemplates(gates, obj, nil) },
			ValidateOnCreate: validation.Rules(rules.workload),
		},
		Update: api.UpdateStrategy[*schedulingv1alpha2.Workload]{
			PrepareForUpdate: func(obj, old *schedulingv1alpha2.Workload) {
				dropFromTemplates(gates, obj, old)
			},
			ValidateUpdate: validation.Changes(rules.workloadChanges),
		},
		Table: api.NameAndAge[*schedulingv1alpha2.Workload](),
	})
}

// dropFromTemplates removes fields of disabled features, unless the stored template at the
// same index has them.
func dropFromTemplates(gates features.Gates, obj, stored *schedulingv1alpha2.Workload) {
	for i := range obj.Spec.PodGroupTemplates {
		t, old := &obj.Spec.PodGroupTemplates[i], &schedulingv1alpha2.PodGroupTemplate{}
		if stored != nil && i < len(stored.Spec.PodGroupTemplates) {
			old = &stored.Spec.PodGroupTemplates[i]
		}
		dropGroupFields(gates, optionalOfTemplate(t), optionalOfTemplate(old))
	}
}

// optionalGroupFields has the fields of a pod group, or of a template of one, that have a
// feature gate.
type optionalGroupFields struct {
	constraints **schedulingv1alpha2.PodGroupSchedulingConstraints
	claims      *[]schedulingv1alpha2.PodGroupResourceClaim
	disruption  **schedulingv1alpha2.DisruptionMode
	class       *string
	priority    **int32
}

func optionalOfTemplate(t *schedulingv1alpha2.PodGroupTemplate) optionalGroupFields {
	return optionalGroupFields{&t.SchedulingConstraints, &t.ResourceClaims, &t.DisruptionMode, &t.PriorityClassName, &t.Priority}
}

func optionalOfGroup(s *schedulingv1alpha2.PodGroupSpec) optionalGroupFields {
	return optionalGroupFields{&s.SchedulingConstraints, &s.ResourceClaims, &s.DisruptionMode, &s.PriorityClassName, &s.Priority}
}

func dropGroupFields(gates features.Gates, obj, old optionalGroupFields) {
	if !gates.Enabled(features.TopologyAwareWorkloadScheduling) && *old.constraints == nil {
		*obj.constraints = nil
	}
	if !gates.Enabled(features.DRAWorkloadResourceClaims) && len(*old.claims) == 0 {
		*obj.claims = nil
	}
	if gates.Enabled(features.WorkloadAwarePreemption) {
		return
	}
	if *old.disruption == nil {
		*obj.disruption = nil
	}
	if *old.class == "" {
		*obj.class = ""
	}
	if *old.priority == nil {
		*obj.priority = nil
	}
}
