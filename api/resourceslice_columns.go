package api

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func resourceSliceColumns() []metav1.TableColumnDefinition {
	spec := resourcev1.ResourceSliceSpec{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Node", doc(spec, "nodeName")),
		textColumn("Driver", doc(spec, "driver")),
		textColumn("Pool", doc(resourcev1.ResourcePool{}, "name")),
		ageColumn(),
	}
}

func resourceSliceCells(obj Object) []any {
	s := obj.(*resourcev1.ResourceSlice)
	return []any{s.Name, orEmpty(s.Spec.NodeName), s.Spec.Driver, s.Spec.Pool.Name, Age(s)}
}
