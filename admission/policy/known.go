package policy

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/ssa"
)

// knownSchemas keeps the schemas that apply configurations were merged by, since
// finding one costs a thousand times what a merge does.
type knownSchemas struct {
	find ssa.Schemas
	mu   sync.Mutex
	// catalogue is the state of the catalogue that they are of.
	state     func() any
	catalogue any
	known     map[schema.GroupVersionKind]typed.ParseableType
}

// of is the schema of a kind; false when it has none.
func (k *knownSchemas) of(kind schema.GroupVersionKind) (typed.ParseableType, bool) {
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
