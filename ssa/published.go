package ssa

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Published returns the Schemas of a catalogue: from the definitions of the published types for
// kinds with Go types, from the kind's own schema for others.
func Published(c *api.Catalogue) Schemas {
	return func(gvk schema.GroupVersionKind) (typed.ParseableType, bool) {
		obj, version := publishedKind(c, gvk)
		if obj == nil {
			return typed.ParseableType{}, false
		}
		name := openapi.ModelName(reflect.TypeOf(obj).Elem())
		var own []openapi.Definition
		if version.OpenAPI != nil {
			var err error
			if own, err = version.OpenAPI(); err != nil {
				return typed.ParseableType{}, false
			}
			if version.KeepsUnknown {
				own = preservingUnknown(own)
			}
			name = openapi.CustomName(gvk)
		}
		parser, err := openapi.Parser(name, c.Reductions(), own...)
		if err != nil {
			return typed.ParseableType{}, false
		}
		t := parser.Type(name)
		return t, t.IsValid()
	}
}

// preservingUnknown adds x-kubernetes-preserve-unknown-fields to definitions.
func preservingUnknown(defs []openapi.Definition) []openapi.Definition {
	out := slices.Clone(defs)
	for i := range out {
		out[i].V3 = append([]byte(`{"x-kubernetes-preserve-unknown-fields":true,`), out[i].V3[1:]...)
	}
	return out
}

// Definition returns the name of a kind's schema in the definitions of the published types.
func Definition(c *api.Catalogue, gvk schema.GroupVersionKind) (name string, ok bool) {
	obj, version := publishedKind(c, gvk)
	if obj == nil || version.OpenAPI != nil {
		return "", false
	}
	return openapi.ModelName(reflect.TypeOf(obj).Elem()), true
}

// publishedKind returns an object of a kind, which may be the one of a subresource, and its
// version, or nil if there is no such kind.
func publishedKind(c *api.Catalogue, gvk schema.GroupVersionKind) (obj api.Object, version *api.Version) {
	if res, version, ok := c.Kind(gvk.GroupVersion(), gvk.Kind); ok {
		return res.NewOf(version), version
	}
	for _, res := range c.Resources() {
		for _, kind := range res.BodyKinds() {
			if version := kind.Version(gvk.GroupVersion()); version != nil && kind.Kind == gvk.Kind {
				return kind.NewOf(version), version
			}
		}
	}
	return nil, nil
}
