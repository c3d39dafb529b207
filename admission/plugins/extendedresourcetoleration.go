package plugins

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// extendedResourceToleration adds tolerations for the extended resources that a pod requests, by
// which nodes with such resources are reserved for it.
func extendedResourceToleration() admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate, api.VerbUpdate),
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			spec := &a.Object.(*corev1.Pod).Spec
			wanted := map[corev1.ResourceName]bool{}
			for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
				for i := range list {
					for name := range list[i].Resources.Requests {
						if quota.IsExtended(name) {
							wanted[name] = true
						}
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(wanted)) {
				t := corev1.Toleration{Key: string(name), Operator: corev1.TolerationOpExists}
				if i := slices.IndexFunc(spec.Tolerations, func(is corev1.Toleration) bool { return is.MatchToleration(&t) }); i >= 0 {
					spec.Tolerations[i] = t
				} else {
					spec.Tolerations = append(spec.Tolerations, t)
				}
			}
			return nil
		},
	}
}
