package api

import (
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// workload is a plan for pods that are scheduled together: templates of pod groups.
func workload(gates features.Gates) *Resource {
	rules := workloadRules{gates}
	return &Resource{
		Name: "workloads", Singular: "workload", Kind: "Workload",
		Namespaced:    true,
		Versions:      preview[schedulingv1alpha2.Workload](schedulingv1alpha2.SchemeGroupVersion, features.GenericWorkload),
		New:           func() Object { return &schedulingv1alpha2.Workload{} },
		Rows:          nameAndAge(),
		Prefix:        "workloads",
		PrepareCreate: func(obj Object) { dropFromTemplates(gates, obj.(*schedulingv1alpha2.Workload), nil) },
		PrepareUpdate: func(obj, old Object) {
			dropFromTemplates(gates, obj.(*schedulingv1alpha2.Workload), old.(*schedulingv1alpha2.Workload))
		},
		ValidateCreate: rulesOf(rules.workload),
		ValidateUpdate: changesOf(rules.workloadChanges),
	}
}

// dropFromTemplates drops what needs a feature gate that is off, unless the template
// in the same place had it already.
func dropFromTemplates(gates features.Gates, is, was *schedulingv1alpha2.Workload) {
	for i := range is.Spec.PodGroupTemplates {
		t, old := &is.Spec.PodGroupTemplates[i], &schedulingv1alpha2.PodGroupTemplate{}
		if was != nil && i < len(was.Spec.PodGroupTemplates) {
			old = &was.Spec.PodGroupTemplates[i]
		}
		dropGroupFields(gates, optionalOfTemplate(t), optionalOfTemplate(old))
	}
}

// optionalGroupFields are the fields of a pod group, or of a template of one, that
// need a feature gate.
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

func dropGroupFields(gates features.Gates, is, was optionalGroupFields) {
	if !gates.Enabled(features.TopologyAwareWorkloadScheduling) && *was.constraints == nil {
		*is.constraints = nil
	}
	if !gates.Enabled(features.DRAWorkloadResourceClaims) && len(*was.claims) == 0 {
		*is.claims = nil
	}
	if gates.Enabled(features.WorkloadAwarePreemption) {
		return
	}
	if *was.disruption == nil {
		*is.disruption = nil
	}
	if *was.class == "" {
		*is.class = ""
	}
	if *was.priority == nil {
		*is.priority = nil
	}
}
