package server

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/openapi"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// schemas finds the merge topology of the catalogue's kinds in the schemas of
// the published types. What was unpacked for one kind is let go: the field
// manager keeps what it makes of it, and a kind is asked for once.
func schemas(catalogue *api.Catalogue) ssa.Schemas {
	var mu sync.Mutex // unpacking takes memory: one at a time
	return func(gvk schema.GroupVersionKind) (typed.ParseableType, bool) {
		res, v, ok := catalogue.Kind(gvk.GroupVersion(), gvk.Kind)
		if !ok {
			return typed.ParseableType{}, false
		}
		named, ok := res.NewOf(v).(interface{ OpenAPIModelName() string })
		if !ok {
			return typed.ParseableType{}, false
		}
		mu.Lock()
		defer mu.Unlock()
		defs, err := openapi.Open()
		if err != nil {
			return typed.ParseableType{}, false
		}
		name := named.OpenAPIModelName()
		parser, err := defs.Parser(name)
		if err != nil {
			return typed.ParseableType{}, false
		}
		t := parser.Type(name)
		return t, t.IsValid()
	}
}
