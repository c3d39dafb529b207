package admission

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// core names resources of the core group; a subresource stands behind a slash.
func core(names ...string) []groupResource {
	out := make([]groupResource, len(names))
	for i, name := range names {
		out[i] = corev1.Resource(name)
	}
	return out
}

// on is one set of verbs on some resources.
func on(resources []groupResource, verbs ...string) []Handles {
	return []Handles{{Verbs: verbs, Resources: resources}}
}

// writes are the verbs of admission but connect.
func writes() []string { return []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete} }

// Resources that plugins read.
func namespacesOf(o *Objects) *reader[*corev1.Namespace] {
	return read[*corev1.Namespace](o, corev1.Resource("namespaces"))
}

func priorityClassesOf(o *Objects) *reader[*schedulingv1.PriorityClass] {
	return read[*schedulingv1.PriorityClass](o, schedulingv1.Resource("priorityclasses"))
}

func storageClassesOf(o *Objects) *reader[*storagev1.StorageClass] {
	return read[*storagev1.StorageClass](o, storagev1.Resource("storageclasses"))
}

func runtimeClassesOf(o *Objects) *reader[*nodev1.RuntimeClass] {
	return read[*nodev1.RuntimeClass](o, nodev1.Resource("runtimeclasses"))
}

func nodesOf(o *Objects) *reader[*corev1.Node] {
	return read[*corev1.Node](o, corev1.Resource("nodes"))
}

// groupResource names a resource.
type groupResource = schema.GroupResource
