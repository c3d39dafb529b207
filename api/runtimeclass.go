package api

import (
	nodev1 "k8s.io/api/node/v1"
	nodev1beta1 "k8s.io/api/node/v1beta1"
)

// runtimeClass is a container runtime that pods may ask for.
func runtimeClass() *Resource {
	return &Resource{
		Name: "runtimeclasses", Singular: "runtimeclass", Kind: "RuntimeClass",
		Versions: older(served(nodev1.SchemeGroupVersion),
			alike[nodev1.RuntimeClass, nodev1beta1.RuntimeClass](nodev1beta1.SchemeGroupVersion),
			runtimeClassV1alpha1()),
		New:            func() Object { return &nodev1.RuntimeClass{} },
		ObjectWarnings: runtimeClassWarnings,
		Rows:           &Table{Columns: runtimeClassColumns, Cells: runtimeClassCells},
		Prefix:         "runtimeclasses",
		ValidateCreate: rulesOf(runtimeClassRules),
		ValidateUpdate: changesOf(func(at *place, is, was *nodev1.RuntimeClass) {
			runtimeClassRules(at, is)
			fixed(at.of("handler"), is.Handler, was.Handler)
		}),
		Default: func(obj Object) {
			if o := obj.(*nodev1.RuntimeClass).Overhead; o != nil {
				wholeMillis(o.PodFixed)
			}
		},
		AllowCreateOnUpdate:    true,
		RequireResourceVersion: true,
	}
}
