package admission

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// CoreResources returns resources of the core group; a subresource follows a slash.
func CoreResources(names ...string) []schema.GroupResource {
	out := make([]schema.GroupResource, len(names))
	for i, name := range names {
		out[i] = corev1.Resource(name)
	}
	return out
}

// HandlesFor returns the selection of verbs on resources.
func HandlesFor(resources []schema.GroupResource, verbs ...string) []Handles {
	return []Handles{{Verbs: verbs, Resources: resources}}
}

// WriteVerbs returns the verbs of admission except connect.
func WriteVerbs() []string { return []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete} }

// NamespacesOf returns a Reader of namespaces.
func NamespacesOf(o *Objects) *Reader[*corev1.Namespace] {
	return NewReader[*corev1.Namespace](o, corev1.Resource("namespaces"))
}

// NodesOf returns a Reader of nodes.
func NodesOf(o *Objects) *Reader[*corev1.Node] {
	return NewReader[*corev1.Node](o, corev1.Resource("nodes"))
}
