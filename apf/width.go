package apf

import (
	"math"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// Width is the number of seats of a request: Initial while it executes, and Final for the
// time Extra after its response.
type Width struct {
	Initial, Final int
	Extra          time.Duration
}

// seats returns the seats that the request occupies from start to end; it occupies the
// larger number all the time.
func (w Width) seats() int { return max(w.Initial, w.Final) }

// estimate returns the estimated work of the request.
func (w Width) estimate() work {
	return workOf(w.Initial, estimatedDuration) + workOf(w.Final, w.Extra)
}

// within limits the final seats to limit and extends Extra accordingly.
func (w Width) within(limit int) Width {
	if limit = max(limit, 1); w.Final > limit {
		w.Extra = workOf(w.Final, w.Extra).spread(limit)
		w.Final = limit
	}
	return w
}

// Parameters of the estimates, equal to kube-apiserver's.
const (
	// bytesPerSeat is the memory of a list for each of its seats, and cachedListBytes the
	// maximum that counts, because lists are streamed.
	bytesPerSeat    = 100_000
	cachedListBytes = 1_000_000
	// maxListSeats and maxWriteSeats are upper limits of the width. Lists that are estimated by number have less.
	maxListSeats        = 100
	maxCountedListSeats = 10
	maxWriteSeats       = 10
	// objectsPerSeat is the number of objects for each seat of a list that is estimated by number.
	objectsPerSeat = 100
	// watchersPerSeat watchers occupy a seat for eventTime.
	watchersPerSeat = 10
	eventTime       = 5 * time.Millisecond
)

// ListShape describes a list request.
type ListShape struct {
	// One is set if the list selects a single object by name.
	One bool
	// Limit is the page size; 0 means no limit.
	Limit int64
	// Selects is set if the list has a label or field selector.
	Selects bool
}

// Objects is the number and size of the objects of a resource.
type Objects struct {
	Count int64
	// Bytes is their total size.
	Bytes int64
}

// listWidth returns the width of a list. Its seats stand for memory: that of the objects in
// the list or, with a selector, of the objects that are filtered.
func listWidth(have Objects, shape ListShape, maxSeats int) Width {
	count := have.Count
	if shape.Limit > 0 {
		count = min(count, shape.Limit)
	}
	switch {
	case shape.One:
		count = min(have.Count, 1)
	case shape.Selects:
		count = max(count, have.Count/2)
	}
	var size float64
	if have.Count > 0 {
		size = float64(have.Bytes) / float64(have.Count) * float64(count)
	}
	seats := int(math.Ceil(min(size, cachedListBytes) / bytesPerSeat))
	return Width{Initial: max(1, min(seats, maxSeats, maxListSeats))}
}

// countedListWidth returns the width of a list by the number of objects in the cache, whatever their size: kube-apiserver's
// estimate without the gate SizeBasedListCostEstimate.
func countedListWidth(have Objects, shape ListShape, maxSeats int) Width {
	if shape.One {
		return Width{Initial: 1}
	}
	seats := int((have.Count + objectsPerSeat - 1) / objectsPerSeat)
	return Width{Initial: max(1, min(seats, maxSeats, maxCountedListSeats))}
}

// writeWidth returns the width of a write that notifies so many watchers. The seats are
// occupied after the response, few seats for a longer time, so that the write does not wait
// for them.
func writeWidth(watchers, maxSeats int) Width {
	w := Width{Initial: 1}
	if watchers >= watchersPerSeat {
		seats := (watchers + watchersPerSeat - 1) / watchersPerSeat
		w.Final = max(1, min(seats, maxSeats, maxWriteSeats))
		w.Extra = workOf(seats, eventTime).spread(w.Final)
	}
	return w
}

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
