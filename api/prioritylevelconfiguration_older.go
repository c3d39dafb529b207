package api

import (
	"maps"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
)

// A number of shares that is left out is 0 in the older versions, and so means
// the default. Where 0 is meant, an annotation says so.
const (
	keepZeroShares = flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey
	zeroSharesKept = "true"
)

// priorityLevelsOlder are the versions before v1. The oldest two have another
// name for the shares.
func priorityLevelsOlder() []Version {
	type hub = flowcontrolv1.PriorityLevelConfiguration
	return []Version{
		unlike(flowcontrolv1beta3.SchemeGroupVersion,
			func(h *hub, old *flowcontrolv1beta3.PriorityLevelConfiguration) {
				if limited := old.Spec.Limited; limited != nil {
					sharesToHub(h, limited.NominalConcurrencyShares)
				}
			},
			func(old *flowcontrolv1beta3.PriorityLevelConfiguration, h *hub) {
				if limited := old.Spec.Limited; limited != nil {
					limited.NominalConcurrencyShares, old.Annotations = sharesFromHub(h)
				}
			}),
		unlike(flowcontrolv1beta2.SchemeGroupVersion,
			func(h *hub, old *flowcontrolv1beta2.PriorityLevelConfiguration) {
				if limited := old.Spec.Limited; limited != nil {
					sharesToHub(h, limited.AssuredConcurrencyShares)
				}
			},
			func(old *flowcontrolv1beta2.PriorityLevelConfiguration, h *hub) {
				if limited := old.Spec.Limited; limited != nil {
					limited.AssuredConcurrencyShares, old.Annotations = sharesFromHub(h)
				}
			}),
		unlike(flowcontrolv1beta1.SchemeGroupVersion,
			func(h *hub, old *flowcontrolv1beta1.PriorityLevelConfiguration) {
				if limited := old.Spec.Limited; limited != nil {
					sharesToHub(h, limited.AssuredConcurrencyShares)
				}
			},
			func(old *flowcontrolv1beta1.PriorityLevelConfiguration, h *hub) {
				if limited := old.Spec.Limited; limited != nil {
					limited.AssuredConcurrencyShares, old.Annotations = sharesFromHub(h)
				}
			}),
	}
}

// sharesToHub sets the shares of a hub whose other fields are there. Its
// annotations may be another object's too.
func sharesToHub(hub *flowcontrolv1.PriorityLevelConfiguration, shares int32) {
	limited := hub.Spec.Limited
	kept, marked := hub.Annotations[keepZeroShares]
	if shares != 0 || marked && kept == zeroSharesKept {
		limited.NominalConcurrencyShares = &shares
	}
	if marked && kept == zeroSharesKept {
		hub.Annotations = maps.Clone(hub.Annotations)
		delete(hub.Annotations, keepZeroShares)
		if len(hub.Annotations) == 0 {
			hub.Annotations = nil
		}
	}
}

// sharesFromHub gives the shares, and the annotations to go with them.
func sharesFromHub(hub *flowcontrolv1.PriorityLevelConfiguration) (shares int32, annotations map[string]string) {
	annotations = hub.Annotations
	if limited := hub.Spec.Limited; limited != nil && limited.NominalConcurrencyShares != nil {
		shares = *limited.NominalConcurrencyShares
		if shares == 0 {
			annotations = maps.Clone(annotations)
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[keepZeroShares] = zeroSharesKept
		}
	}
	return shares, annotations
}
