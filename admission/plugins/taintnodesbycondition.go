package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// taintNodesByCondition taints new nodes so that no pod is scheduled before the node is ready.
func taintNodesByCondition() admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("nodes"), api.VerbCreate),
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			node := a.Object.(*corev1.Node)
			taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
			for i := range node.Spec.Taints {
				if node.Spec.Taints[i].MatchTaint(&taint) {
					return nil
				}
			}
			node.Spec.Taints = append(node.Spec.Taints, taint)
			return nil
		},
	}
}
