package ssa

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Published finds the schemas of the kinds of a catalogue: of those that have Go
// types in the definitions of the published types, of others in what they bring.
//
// What was unpacked of these is kept until the garbage collector takes it: kinds
// are mostly asked for together, at the start, and seldom later.
func Published(c *api.Catalogue) Schemas {
	var mu sync.Mutex
	var kept weak.Pointer[openapi.Definitions]
	return func(gvk schema.GroupVersionKind) (typed.ParseableType, bool) {
		obj, version := published(c, gvk)
		if obj == nil {
			return typed.ParseableType{}, false
		}
		name, custom := definitionName(reflect.TypeOf(obj).Elem()), version.OpenAPI
		if custom != nil {
			name = openapi.CustomName(gvk)
		}
		mu.Lock()
		defer mu.Unlock()
		defs := kept.Value()
		if defs == nil {
			var err error
			if defs, err = openapi.Open(); err != nil {
				return typed.ParseableType{}, false
			}
			kept = weak.Make(defs)
		}
		if custom != nil {
			own, err := custom()
			if err != nil {
				return typed.ParseableType{}, false
			}
			if version.KeepsUnknown {
				own = keepingUnknown(own)
			}
			defs = defs.With(own...)
		}
		parser, err := defs.Parser(name)
		if err != nil {
			return typed.ParseableType{}, false
		}
		t := parser.Type(name)
		return t, t.IsValid()
	}
}

// keepingUnknown are definitions whose objects may have more fields than they tell.
func keepingUnknown(defs []openapi.Definition) []openapi.Definition {
	out := slices.Clone(defs)
	for i := range out {
		out[i].V3 = append([]byte(`{"x-kubernetes-preserve-unknown-fields":true,`), out[i].V3[1:]...)
	}
	return out
}

// Definition is what the schema of a kind is called among the definitions of the
// published types.
func Definition(c *api.Catalogue, gvk schema.GroupVersionKind) (name string, ok bool) {
	obj, version := published(c, gvk)
	if obj == nil || version.OpenAPI != nil {
		return "", false
	}
	return definitionName(reflect.TypeOf(obj).Elem()), true
}

// published returns an object of a kind, which may be that of a subresource, and its
// version; nil when there is no such kind. What has no Go type brings its schema.
func published(c *api.Catalogue, gvk schema.GroupVersionKind) (obj api.Object, version *api.Version) {
	if res, version, ok := c.Kind(gvk.GroupVersion(), gvk.Kind); ok {
		return res.NewOf(version), version
	}
	for _, res := range c.Resources() {
		for _, sub := range res.Subresources {
			if sub.Kind == nil || sub.Kind.Kind != gvk.Kind {
				continue
			}
			if version := sub.Kind.Version(gvk.GroupVersion()); version != nil {
				return sub.Kind.NewOf(version), version
			}
		}
	}
	return nil, nil
}

// definitionName is what the schema of a Go type is called: that of
// k8s.io/api/core/v1.Pod is io.k8s.api.core.v1.Pod.
func definitionName(rt reflect.Type) string {
	domain, path, _ := strings.Cut(rt.PkgPath(), "/")
	parts := strings.Split(domain, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + rt.Name()
}
