package policy

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/ssa"
)

// schemaCache caches the schemas for apply configurations, since finding one costs a thousand times
// as much as a merge.
type schemaCache struct {
	find ssa.Schemas
	mu   sync.Mutex
	// catalogue is the result of state for which the schemas are valid.
	catalogue any
	// state returns the current state of the catalogue.
	state func() any
	known map[schema.GroupVersionKind]typed.ParseableType
}

// schema returns the schema of a kind; ok is false if it has none.
func (k *schemaCache) schema(kind schema.GroupVersionKind) (typed.ParseableType, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.state(); k.known == nil || k.catalogue != now {
		k.catalogue, k.known = now, map[schema.GroupVersionKind]typed.ParseableType{}
	}
	if t, ok := k.known[kind]; ok {
		return t, true
	}
	t, ok := k.find(kind)
	if ok {
		k.known[kind] = t
	}
	return t, ok
}
