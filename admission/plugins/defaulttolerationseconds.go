package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// defaultTolerationSeconds adds tolerations, limited in time, for nodes that are not ready or
// unreachable to pods that do not have their own.
func defaultTolerationSeconds(c *Config, _ []byte) (admission.Plugin, error) {
	notReady, unreachable := c.NotReadySeconds, c.UnreachableSeconds
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate, api.VerbUpdate),
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			spec := &a.Object.(*corev1.Pod).Spec
			tolerateFor(spec, corev1.TaintNodeNotReady, notReady)
			tolerateFor(spec, corev1.TaintNodeUnreachable, unreachable)
			return nil
		},
	}, nil
}

func tolerateFor(spec *corev1.PodSpec, taint string, seconds int64) {
	for i := range spec.Tolerations {
		t := &spec.Tolerations[i]
		if (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return
		}
	}
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
		Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
	})
}
