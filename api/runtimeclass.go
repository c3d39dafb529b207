package api

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1beta1 "k8s.io/api/node/v1beta1"
)

// runtimeClass is a container runtime that pods may ask for.
func runtimeClass() *Resource {
	return &Resource{
		Name: "runtimeclasses", Singular: "runtimeclass", Kind: "RuntimeClass",
		Versions:               readable(served(nodev1.SchemeGroupVersion), nodev1beta1.SchemeGroupVersion),
		New:                    func() Object { return &nodev1.RuntimeClass{} },
		Prefix:                 "runtimeclasses",
		AllowCreateOnUpdate:    true,
		RequireResourceVersion: true,
	}
}
