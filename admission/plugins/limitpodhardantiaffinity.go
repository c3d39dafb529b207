package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// limitPodHardAntiAffinityTopology allows required pod anti-affinity only per node, so that a pod
// cannot exclude others from a whole zone.
func limitPodHardAntiAffinityTopology() admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate, api.VerbUpdate),
		Validate: func(_ context.Context, a *registry.Attributes) error {
			affinity := a.Object.(*corev1.Pod).Spec.Affinity
			if affinity == nil || affinity.PodAntiAffinity == nil {
				return nil
			}
			for _, term := range affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				if term.TopologyKey != corev1.LabelHostname {
					return admission.Forbiddenf(a,
						"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %v but only key %v is allowed", term.TopologyKey, corev1.LabelHostname)
				}
			}
			return nil
		},
	}
}
