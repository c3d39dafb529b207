package api

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
)

// runtimeClassV1alpha1 has everything in a spec, and another name for the
// handler.
func runtimeClassV1alpha1() Version {
	return storedOnly(unlike(nodev1alpha1.SchemeGroupVersion,
		func(hub *nodev1.RuntimeClass, old *nodev1alpha1.RuntimeClass) {
			copyFields(hub, &old.Spec)
			hub.Handler = old.Spec.RuntimeHandler
		},
		func(old *nodev1alpha1.RuntimeClass, hub *nodev1.RuntimeClass) {
			copyFields(&old.Spec, hub)
			old.Spec.RuntimeHandler = hub.Handler
		}))
}
