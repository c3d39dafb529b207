package admission

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// coreResources returns resources of the core group; a subresource follows a slash.
func coreResources(names ...string) []groupResource {
	out := make([]groupResource, len(names))
	for i, name := range names {
		out[i] = corev1.Resource(name)
	}
	return out
}

// handle returns the selection of verbs on resources.
func handle(resources []groupResource, verbs ...string) []Handles {
	return []Handles{{Verbs: verbs, Resources: resources}}
}

// writeVerbs are the verbs of admission except connect.
func writeVerbs() []string { return []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete} }

// The functions below return readers of resources that several plugins use.

func namespacesOf(o *Objects) *reader[*corev1.Namespace] {
	return newReader[*corev1.Namespace](o, corev1.Resource("namespaces"))
}

func priorityClassesOf(o *Objects) *reader[*schedulingv1.PriorityClass] {
	return newReader[*schedulingv1.PriorityClass](o, schedulingv1.Resource("priorityclasses"))
}

func storageClassesOf(o *Objects) *reader[*storagev1.StorageClass] {
	return newReader[*storagev1.StorageClass](o, storagev1.Resource("storageclasses"))
}

func runtimeClassesOf(o *Objects) *reader[*nodev1.RuntimeClass] {
	return newReader[*nodev1.RuntimeClass](o, nodev1.Resource("runtimeclasses"))
}

func nodesOf(o *Objects) *reader[*corev1.Node] {
	return newReader[*corev1.Node](o, corev1.Resource("nodes"))
}

type groupResource = schema.GroupResource
