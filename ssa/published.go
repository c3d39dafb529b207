package ssa

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Published finds the schemas of the kinds of a catalogue that have Go types, in
// the definitions of the published types.
func Published(c *api.Catalogue) Schemas {
	return func(gvk schema.GroupVersionKind) (typed.ParseableType, bool) {
		res, version, ok := c.Kind(gvk.GroupVersion(), gvk.Kind)
		if !ok {
			return typed.ParseableType{}, false
		}
		name := definitionName(reflect.TypeOf(res.NewOf(version)).Elem())
		defs, err := openapi.Open()
		if err != nil {
			return typed.ParseableType{}, false
		}
		parser, err := defs.Parser(name)
		if err != nil {
			return typed.ParseableType{}, false
		}
		t := parser.Type(name)
		return t, t.IsValid()
	}
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
