package api

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
)

// sliceV1beta1 keeps what there is to say of a device below "basic", and has no
// pointers where nothing said and nothing meant are the same.
func sliceV1beta1() Version {
	return unlike(resourcev1beta1.SchemeGroupVersion,
		func(hub *resourcev1.ResourceSlice, old *resourcev1beta1.ResourceSlice) {
			if old.Spec.NodeName != "" {
				hub.Spec.NodeName = &old.Spec.NodeName
			}
			if old.Spec.AllNodes {
				hub.Spec.AllNodes = &old.Spec.AllNodes
			}
			for i := range old.Spec.Devices {
				if basic := old.Spec.Devices[i].Basic; basic != nil {
					copyFields(&hub.Spec.Devices[i], basic)
				}
			}
		},
		func(old *resourcev1beta1.ResourceSlice, hub *resourcev1.ResourceSlice) {
			if hub.Spec.NodeName != nil {
				old.Spec.NodeName = *hub.Spec.NodeName
			}
			if hub.Spec.AllNodes != nil {
				old.Spec.AllNodes = *hub.Spec.AllNodes
			}
			for i := range hub.Spec.Devices {
				old.Spec.Devices[i].Basic = &resourcev1beta1.BasicDevice{}
				copyFields(old.Spec.Devices[i].Basic, &hub.Spec.Devices[i])
			}
		})
}
