package apf

import (
	"sync"

	"github.com/miniapiserver/miniapiserver/request"
)

// watchers counts the watches, so that a write can be told how many it wakes.
type watchers struct {
	mu    sync.RWMutex
	count map[watched]int
	// chosen counts watches of those objects that have a certain value in a
	// field, by the value.
	chosen map[watched]map[string]int
}

// watched is what a watch is of: everything of a resource, a namespace, or one
// object.
type watched struct{ group, resource, namespace, name string }

// Selected says of which objects a watch is, beyond its path.
type Selected struct {
	// Name is that of the one object which is watched.
	Name string
	// Value: only objects with this value in a field that is told apart cheaply,
	// as pods by their node.
	Value string
}

// add counts a watch, until what it returns is called.
func (w *watchers) add(info *request.Info, selected Selected) (end func()) {
	k := watched{info.Group, info.Resource, info.Namespace, info.Name}
	if selected.Name != "" {
		k.name = selected.Name
	}
	w.change(k, selected.Value, 1)
	return sync.OnceFunc(func() { w.change(k, selected.Value, -1) })
}

func (w *watchers) change(k watched, value string, delta int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil {
		w.count, w.chosen = map[watched]int{}, map[watched]map[string]int{}
	}
	if value == "" {
		if w.count[k] += delta; w.count[k] == 0 {
			delete(w.count, k)
		}
		return
	}
	values := w.chosen[k]
	if values == nil {
		values = map[string]int{}
		w.chosen[k] = values
	}
	if values[value] += delta; values[value] == 0 {
		delete(values, value)
	}
	if len(values) == 0 {
		delete(w.chosen, k)
	}
}

// of is how many watches a write is thought to wake. Of those that choose by a
// field nobody knows yet which: it is as many as an average value has.
func (w *watchers) of(info *request.Info) int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if len(w.count) == 0 && len(w.chosen) == 0 {
		return 0
	}
	n := 0
	see := func(k watched) {
		n += w.count[k]
		if values := w.chosen[k]; len(values) > 0 {
			sum := 0
			for _, v := range values {
				sum += v
			}
			n += (sum + len(values) - 1) / len(values)
		}
	}
	k := watched{group: info.Group, resource: info.Resource}
	see(k)
	if info.Namespace != "" {
		see(watched{k.group, k.resource, info.Namespace, ""})
	}
	if info.Name != "" {
		see(watched{k.group, k.resource, "", info.Name})
		if info.Namespace != "" {
			see(watched{k.group, k.resource, info.Namespace, info.Name})
		}
	}
	return n
}
