package conversation

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// patience is the time after which a replay goes on although an event of a stream does not come.
const patience = 5 * time.Second

// point is a moment of a recording after which requests may have been sent because of it: the end of a response, the beginning of
// that of a stream, or an event.
type point struct {
	at   float64
	step int
	// event is the number of the event, from 1; 0 for the beginning of a stream, and -1 for the end.
	event int
}

// timeline tells which points of a recording have been reached. Requests wait for all points before them.
type timeline struct {
	points  []point
	index   map[[2]int]int // of a point by step and event
	mu      sync.Mutex
	reached []bool
	prefix  int           // all points before it are reached
	changed chan struct{} // closed when prefix changes
}

func newTimeline(steps []Step) *timeline {
	t := &timeline{index: map[[2]int]int{}, changed: make(chan struct{})}
	last := 0.0
	for _, s := range steps {
		last = max(last, s.Timing.Start, s.Timing.Answer, s.Timing.End)
		for _, at := range s.Timing.Events {
			last = max(last, at)
		}
	}
	for i, s := range steps {
		if s.Stream != nil {
			t.points = append(t.points, point{s.Timing.Answer, i, 0})
			events, _ := s.Expect["events"].([]any)
			for n, at := range s.Timing.Events {
				if n < len(events) && !isBookmark(events[n]) {
					t.points = append(t.points, point{at, i, n + 1})
				}
			}
		}
		t.points = append(t.points, point{cmp.Or(s.Timing.End, last), i, -1})
	}
	slices.SortStableFunc(t.points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	for i, p := range t.points {
		t.index[[2]int{p.step, p.event}] = i
	}
	t.reached = make([]bool, len(t.points))
	return t
}

// before returns the number of points before a time.
func (t *timeline) before(at float64) int {
	n, _ := slices.BinarySearchFunc(t.points, at, func(p point, at float64) int { return cmp.Compare(p.at, at) })
	return n
}

// reach marks points of a step as reached.
func (t *timeline) reach(step int, events ...int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, event := range events {
		if i, ok := t.index[[2]int{step, event}]; ok {
			t.reached[i] = true
		}
	}
	old := t.prefix
	for t.prefix < len(t.points) && t.reached[t.prefix] {
		t.prefix++
	}
	if t.prefix > old {
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// await returns when the first n points are reached, or ctx ends. Events and beginnings of streams that do not come are given up: then
// the replay goes on without them, and the comparison reports them.
func (t *timeline) await(ctx context.Context, n int) {
	for {
		t.mu.Lock()
		prefix, changed := t.prefix, t.changed
		t.mu.Unlock()
		if prefix >= n {
			return
		}
		timer := time.NewTimer(patience)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-changed:
			timer.Stop()
		case <-timer.C:
			if late := t.points[prefix]; late.event >= 0 {
				t.reach(late.step, late.event)
			}
		}
	}
}
