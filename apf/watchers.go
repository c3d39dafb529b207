package apf

import (
	"sync"

	"github.com/miniapiserver/miniapiserver/request"
)

// watchCounts counts the watches of each scope, to estimate how many of them a write notifies.
type watchCounts struct {
	mu    sync.RWMutex
	count map[watchScope]int
	// byValue counts watches that select by the value of an indexed field, by that value.
	byValue map[watchScope]map[string]int
}

// watchScope is the scope of a watch: all objects of a resource, those of a namespace, or one
// object.
type watchScope struct{ group, resource, namespace, name string }

// WatchSelection is the selection of a watch by its selectors.
type WatchSelection struct {
	// Name is the name of the only selected object.
	Name string
	// Value is the value of an indexed field, such as the node of pods, that selected
	// objects have.
	Value string
}

// add counts a watch until end is called.
func (w *watchCounts) add(info *request.Info, selected WatchSelection) (end func()) {
	k := watchScope{info.Group, info.Resource, info.Namespace, info.Name}
	if selected.Name != "" {
		k.name = selected.Name
	}
	w.change(k, selected.Value, 1)
	return sync.OnceFunc(func() { w.change(k, selected.Value, -1) })
}

func (w *watchCounts) change(k watchScope, value string, delta int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil {
		w.count, w.byValue = map[watchScope]int{}, map[watchScope]map[string]int{}
	}
	if value == "" {
		if w.count[k] += delta; w.count[k] == 0 {
			delete(w.count, k)
		}
		return
	}
	values := w.byValue[k]
	if values == nil {
		values = map[string]int{}
		w.byValue[k] = values
	}
	if values[value] += delta; values[value] == 0 {
		delete(values, value)
	}
	if len(values) == 0 {
		delete(w.byValue, k)
	}
}

// notifiedBy estimates the number of watches that a write notifies. The field values of the
// written object are unknown, so watches by field count as the average of all values.
func (w *watchCounts) notifiedBy(info *request.Info) int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if len(w.count) == 0 && len(w.byValue) == 0 {
		return 0
	}
	n := 0
	see := func(k watchScope) {
		n += w.count[k]
		if values := w.byValue[k]; len(values) > 0 {
			sum := 0
			for _, v := range values {
				sum += v
			}
			n += (sum + len(values) - 1) / len(values)
		}
	}
	k := watchScope{group: info.Group, resource: info.Resource}
	see(k)
	if info.Namespace != "" {
		see(watchScope{k.group, k.resource, info.Namespace, ""})
	}
	if info.Name != "" {
		see(watchScope{k.group, k.resource, "", info.Name})
		if info.Namespace != "" {
			see(watchScope{k.group, k.resource, info.Namespace, info.Name})
		}
	}
	return n
}
