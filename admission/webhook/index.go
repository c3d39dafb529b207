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

// catchUpTimeout bounds how long a write waits for the cache to have the last
// configuration.
const catchUpTimeout = time.Second

// index has the hooks of all configurations of a kind. Whoever asks first after a
// configuration was written takes it in, so that a write is judged by every hook
// that was written through this server before it.
type index[T api.Object] struct {
	compile func(T) []*hook

	// mu guards the rest; the cursor is asked for news under it.
	mu      sync.RWMutex
	cursor  *storage.Cursor
	configs map[string][]*hook
	// unreadable are the errors of configurations that cannot be decoded.
	unreadable map[string]error
	// hooks are those of all configurations, ordered by their names. The slice
	// is replaced and never changed.
	hooks []*hook
	err   error
}

func newIndex[T api.Object](reg *registry.Registry, gr schema.GroupResource, compile func(T) []*hook) (*index[T], error) {
	cursor, err := reg.Cursor(gr)
	if err != nil {
		return nil, err
	}
	return &index[T]{compile: compile, cursor: cursor, configs: map[string][]*hook{}, unreadable: map[string]error{}}, nil
}

// now returns the hooks of all configurations. If a configuration cannot be decoded,
// it returns an error: nobody knows which writes its hooks would refuse.
func (x *index[T]) now(ctx context.Context) ([]*hook, error) {
	x.mu.RLock()
	hooks, err, behind := x.hooks, x.err, x.cursor.Behind()
	x.mu.RUnlock()
	if !behind {
		return hooks, err
	}
	// Where nothing newer is to be had, what there is decides.
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	_ = x.cursor.Wait(ctx)
	cancel()
	x.mu.Lock()
	defer x.mu.Unlock()
	if steps, all := x.cursor.Next(); all || len(steps) > 0 {
		x.take(steps, all)
	}
	return x.hooks, x.err
}

func (x *index[T]) take(steps []storage.Step, all bool) {
	if all {
		clear(x.configs)
		clear(x.unreadable)
	}
	for _, s := range steps {
		name := s.Item.Name()
		delete(x.configs, name)
		delete(x.unreadable, name)
		if s.Gone {
			continue
		}
		obj, err := s.Item.Object()
		if err != nil {
			x.unreadable[name] = err
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
	for _, name := range slices.Sorted(maps.Keys(x.unreadable)) {
		x.err = x.unreadable[name]
		return
	}
}
