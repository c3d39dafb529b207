package plugins

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// denyServiceExternalIPs rejects external IPs that a service did not have before.
func denyServiceExternalIPs() admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("services"), api.VerbCreate, api.VerbUpdate),
		Validate: func(_ context.Context, a *registry.Attributes) error {
			var had []string
			if old, ok := a.Old.(*corev1.Service); ok {
				had = old.Spec.ExternalIPs
			}
			for _, ip := range a.Object.(*corev1.Service).Spec.ExternalIPs {
				if !slices.Contains(had, ip) {
					return admission.Forbiddenf(a, "Use of external IPs is denied by admission control.")
				}
			}
			return nil
		},
	}
}
