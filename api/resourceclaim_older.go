package api

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
)

// In v1beta1 a request for devices has among its own fields those of the request
// for exact devices, which v1 keeps apart.

func claimV1beta1() Version {
	return unlike(resourcev1beta1.SchemeGroupVersion,
		func(hub *resourcev1.ResourceClaim, old *resourcev1beta1.ResourceClaim) {
			requestsToHub(hub.Spec.Devices.Requests, old.Spec.Devices.Requests)
		},
		func(old *resourcev1beta1.ResourceClaim, hub *resourcev1.ResourceClaim) {
			requestsFromHub(old.Spec.Devices.Requests, hub.Spec.Devices.Requests)
		})
}

func claimTemplateV1beta1() Version {
	return unlike(resourcev1beta1.SchemeGroupVersion,
		func(hub *resourcev1.ResourceClaimTemplate, old *resourcev1beta1.ResourceClaimTemplate) {
			requestsToHub(hub.Spec.Spec.Devices.Requests, old.Spec.Spec.Devices.Requests)
		},
		func(old *resourcev1beta1.ResourceClaimTemplate, hub *resourcev1.ResourceClaimTemplate) {
			requestsFromHub(old.Spec.Spec.Devices.Requests, hub.Spec.Spec.Devices.Requests)
		})
}

func requestsToHub(hub []resourcev1.DeviceRequest, old []resourcev1beta1.DeviceRequest) {
	for i := range old {
		if asksExactly(&old[i]) {
			hub[i].Exactly = &resourcev1.ExactDeviceRequest{}
			copyFields(hub[i].Exactly, &old[i])
		}
	}
}

func requestsFromHub(old []resourcev1beta1.DeviceRequest, hub []resourcev1.DeviceRequest) {
	for i := range hub {
		if exactly := hub[i].Exactly; exactly != nil {
			copyFields(&old[i], exactly)
		}
	}
}

// asksExactly tells whether any field is set that goes into the request for
// exact devices. What is wrong with them, validation tells.
func asksExactly(r *resourcev1beta1.DeviceRequest) bool {
	return r.DeviceClassName != "" || r.Selectors != nil || r.AllocationMode != "" || r.Count != 0 ||
		r.AdminAccess != nil || r.Tolerations != nil || r.Capacity != nil
}
