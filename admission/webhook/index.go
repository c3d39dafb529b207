package webhook

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// catchUpTimeout is the maximum time for which a write waits until the cache has the latest
// configuration.
const catchUpTimeout = time.Second

// index holds the hooks of all configurations of a kind. The first write after a change applies the
// change, so that a write calls every hook that was written through this server before it.
type index[T api.Object] struct {
	compile func(T) []*hook

	// mu guards the fields below and the cursor.
	mu      sync.RWMutex
	cursor  *storage.Cursor
	configs map[string][]*hook
	// undecodable holds the errors of configurations that cannot be decoded.
	undecodable map[string]error
	// hooks are the hooks of all configurations, ordered by configuration name. The slice is
	// immutable and replaced on changes.
	hooks []*hook
	err   error
}

func newIndex[T api.Object](reg *registry.Registry, gr schema.GroupResource, compile func(T) []*hook) (*index[T], error) {
	cursor, err := reg.Cursor(gr)
	if err != nil {
		return nil, err
	}
	return &index[T]{compile: compile, cursor: cursor, configs: map[string][]*hook{}, undecodable: map[string]error{}}, nil
}

// current returns the hooks of all configurations. It returns an error if a configuration cannot be
// decoded, since its hooks might reject the write.
func (x *index[T]) current(ctx context.Context) ([]*hook, error) {
	x.mu.RLock()
	hooks, err, behind := x.hooks, x.err, x.cursor.Behind()
	x.mu.RUnlock()
	if !behind {
		return hooks, err
	}
	// If the cache is disconnected, the known configurations apply.
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	_ = x.cursor.Wait(ctx)
	cancel()
	x.mu.Lock()
	defer x.mu.Unlock()
	if steps, all := x.cursor.Next(); all || len(steps) > 0 {
		x.apply(steps, all)
	}
	return x.hooks, x.err
}

func (x *index[T]) apply(steps []storage.Step, all bool) {
	if all {
		clear(x.configs)
		clear(x.undecodable)
	}
	for _, s := range steps {
		name := s.Item.Name()
		delete(x.configs, name)
		delete(x.undecodable, name)
		if s.Deleted {
			continue
		}
		obj, err := s.Item.Object()
		if err != nil {
			x.undecodable[name] = err
			continue
		}
		if config, ok := obj.(T); ok {
			x.configs[name] = x.compile(config)
		}
	}
	var hooks []*hook
	for _, name := range slices.Sorted(maps.Keys(x.configs)) {
		hooks = append(hooks, x.configs[name]...)
	}
	x.hooks, x.err = hooks, nil
	for _, name := range slices.Sorted(maps.Keys(x.undecodable)) {
		x.err = x.undecodable[name]
		return
	}
}
