package api

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// deviceClass is a class of devices that can be claimed.
func deviceClass() *Resource {
	return &Resource{
		Name: "deviceclasses", Singular: "deviceclass", Kind: "DeviceClass",
		Versions: older(served(resourcev1.SchemeGroupVersion),
			alike[resourcev1.DeviceClass, resourcev1beta2.DeviceClass](resourcev1beta2.SchemeGroupVersion),
			alike[resourcev1.DeviceClass, resourcev1beta1.DeviceClass](resourcev1beta1.SchemeGroupVersion)),
		New:                 func() Object { return &resourcev1.DeviceClass{} },
		Rows:                nameAndAge(),
		Prefix:              "deviceclasses",
		ValidateCreate:      rulesOf(deviceClassRules),
		ValidateUpdate:      changesOf(deviceClassChanges),
		ReturnDeletedObject: true,
		Generation:          true,
	}
}
