package api

import (
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// podGroup is some pods that are scheduled together.
func podGroup(gates features.Gates) *Resource {
	rules := workloadRules{gates}
	return &Resource{
		Name: "podgroups", Singular: "podgroup", Kind: "PodGroup",
		Namespaced: true,
		Versions:   preview[schedulingv1alpha2.PodGroup](schedulingv1alpha2.SchemeGroupVersion, features.GenericWorkload),
		New:        func() Object { return &schedulingv1alpha2.PodGroup{} },
		Rows:       &Table{Columns: podGroupColumns, Cells: podGroupCells},
		Prefix:     "podgroups",
		Default: func(obj Object) {
			setDefault(&obj.(*schedulingv1alpha2.PodGroup).Spec.DisruptionMode, schedulingv1alpha2.DisruptionModePod)
		},
		PrepareCreate: func(obj Object) {
			dropGroupFields(gates, optionalOfGroup(&obj.(*schedulingv1alpha2.PodGroup).Spec), optionalOfGroup(&schedulingv1alpha2.PodGroupSpec{}))
		},
		PrepareUpdate: func(obj, old Object) {
			dropGroupFields(gates, optionalOfGroup(&obj.(*schedulingv1alpha2.PodGroup).Spec), optionalOfGroup(&old.(*schedulingv1alpha2.PodGroup).Spec))
		},
		ValidateCreate: rulesOf(rules.podGroup),
		ValidateUpdate: changesOf(rules.podGroupChanges),
		HasStatus:      true,
		PrepareStatusUpdate: func(obj, old Object) {
			keepMetadataOf(obj, old)
			if !gates.Enabled(features.DRAWorkloadResourceClaims) && len(old.(*schedulingv1alpha2.PodGroup).Spec.ResourceClaims) == 0 {
				obj.(*schedulingv1alpha2.PodGroup).Status.ResourceClaimStatuses = nil
			}
		},
		ValidateStatusUpdate: changesOf(podGroupStatusChanges),
		ResetFields:          map[string][]string{"status": {"metadata", "spec"}},
	}
}
