package representation

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// registered is a kind that kube-apiserver has a Go type for.
type registered struct {
	// name is the name of the type with its package, such as v1.Pod or core.Pod.
	name string
	// obj is an empty object of the type, or nil if this server does not have the type.
	obj any
}

// registeredKind returns the Go type that kube-apiserver knows for a kind in requests to c's resource. A
// body of such a kind is refused as one of another kind; any other kind is not registered. Each of the
// servers that kube-apiserver consists of has its own types, which are those of one Go module, and those
// that all API groups share.
func (c *Codec) registeredKind(gvk schema.GroupVersionKind) (registered, bool) {
	if gvk.Version == runtime.APIVersionInternal {
		if name, ok := c.internalKind(gvk); ok {
			return registered{name: name}, true
		}
	} else if r, ok := c.publishedKind(gvk); ok {
		return r, true
	}
	return c.sharedKind(gvk)
}

// publishedKind returns the type of a kind, or of its list.
func (c *Codec) publishedKind(gvk schema.GroupVersionKind) (registered, bool) {
	name := gvk.Version + "." + gvk.Kind
	if res, v, ok := c.kindOf(gvk); ok {
		return registered{name, res.NewOf(v)}, true
	}
	if gvk == metav1.Unversioned.WithKind("List") && c.ofCoreModule() {
		return registered{name: name}, true
	}
	if obj := c.unservedKind(gvk); obj != nil {
		return registered{name, obj}, true
	}
	item, isList := strings.CutSuffix(gvk.Kind, "List")
	res, _, ok := c.kindOf(gvk.GroupVersion().WithKind(item))
	return registered{name: name}, isList && ok && isListed(res)
}

// unservedKind returns an empty object of a kind that no path of its version has: that of a subresource,
// such as Scale, or one in a removed version. It has the fields of the current version, which are those
// of the removed one but for a few.
func (c *Codec) unservedKind(gvk schema.GroupVersionKind) api.Object {
	for _, res := range c.codecs.catalogue.Resources() {
		if res.IsCustom() || moduleOf(res) != moduleOf(c.resource) {
			continue
		}
		if res.Kind == gvk.Kind && slices.Contains(res.RemovedVersions, gvk.GroupVersion()) {
			return res.New()
		}
		for _, kind := range res.BodyKinds() {
			if v := kind.Version(gvk.GroupVersion()); v != nil && kind.Kind == gvk.Kind {
				return kind.NewOf(v)
			}
		}
	}
	return nil
}

// kindOf returns the resource of a kind whose Go type is of the module of c's resource.
func (c *Codec) kindOf(gvk schema.GroupVersionKind) (*api.Resource, *api.Version, bool) {
	res, v, ok := c.codecs.catalogue.Kind(gvk.GroupVersion(), gvk.Kind)
	return res, v, ok && !res.IsCustom() && moduleOf(res) == moduleOf(c.resource)
}

// internalKind returns the name of the internal type of a kind, or of its list.
func (c *Codec) internalKind(gvk schema.GroupVersionKind) (string, bool) {
	g, ok := c.codecs.catalogue.Group(gvk.Group)
	if !ok {
		return "", false
	}
	for _, gv := range g.Versions {
		if _, ok := c.publishedKind(gv.WithKind(gvk.Kind)); ok {
			return api.InternalPackage(c.codecs.catalogue.In(gv)[0]) + "." + gvk.Kind, true
		}
	}
	return "", false
}

// sharedKind returns the type of a kind that every API group has, such as the options of requests, or that
// has no version, such as Status.
func (c *Codec) sharedKind(gvk schema.GroupVersionKind) (registered, bool) {
	known := runtime.NewScheme()
	metav1.AddToGroupVersion(known, metav1.Unversioned)
	if g, ok := c.codecs.catalogue.Group(gvk.Group); ok && c.hasTypesOf(g) {
		for _, gv := range g.Versions {
			metav1.AddToGroupVersion(known, gv)
		}
	}
	obj, err := known.New(gvk)
	if err != nil {
		return registered{}, false
	}
	return registered{typeName(obj), obj}, true
}

// hasTypesOf reports whether the kinds of a group are of the module of c's resource.
func (c *Codec) hasTypesOf(g api.Group) bool {
	return slices.ContainsFunc(c.codecs.catalogue.In(g.Versions[0]), func(res *api.Resource) bool {
		return !res.IsCustom() && moduleOf(res) == moduleOf(c.resource)
	})
}

// ofCoreModule reports whether the types of c's resource are of the module of the core group.
func (c *Codec) ofCoreModule() bool {
	g, ok := c.codecs.catalogue.Group("")
	return ok && c.hasTypesOf(g)
}

// moduleOf returns the Go module of the type of a resource.
func moduleOf(res *api.Resource) string {
	path := reflect.TypeOf(res.New()).Elem().PkgPath()
	if parts := strings.SplitN(path, "/", 3); len(parts) > 2 {
		return parts[0] + "/" + parts[1]
	}
	return path
}

// isListed reports whether the objects of a resource have a list kind.
func isListed(res *api.Resource) bool {
	return res.Verbs == nil || slices.Contains(res.Verbs, api.VerbList)
}

// typeName returns the name of the type of obj, a pointer to a struct, with its package.
func typeName(obj any) string { return reflect.TypeOf(obj).Elem().String() }
