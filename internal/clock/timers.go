package clock

import (
	"container/heap"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// AfterFunc calls f when the clock reaches at, in a goroutine of its own or in that of a move. f must return at once, and call done
// when the work that fell due is done, which a move waits for. The returned function stops the call, and reports whether it did.
func (c *Clock) AfterFunc(at time.Time, f func(done func())) (stop func() bool) {
	if c == nil {
		return time.AfterFunc(time.Until(at), func() { f(func() {}) }).Stop
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: at, f: f, number: c.timers.added}
	c.timers.added++
	heap.Push(&c.timers, t)
	if t.position == 0 {
		c.arm()
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.position < 0 {
			return false
		}
		heap.Remove(&c.timers, t.position)
		return true
	}
}

// timer is work that falls due at a time.
type timer struct {
	at       time.Time
	f        func(done func())
	number   uint64 // in the order of the calls, for equal times
	position int    // in the heap; -1 if it is not there any more
}

// timers is a heap of timers by time. The mutex of the clock guards it.
type timers struct {
	heap  []*timer
	added uint64
	wake  *time.Timer // calls Clock.fire when the first one falls due by itself
}

// Len implements heap.Interface.
func (t *timers) Len() int { return len(t.heap) }

// Less implements heap.Interface.
func (t *timers) Less(i, j int) bool {
	a, b := t.heap[i], t.heap[j]
	if c := a.at.Compare(b.at); c != 0 {
		return c < 0
	}
	return a.number < b.number
}

// Swap implements heap.Interface.
func (t *timers) Swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].position, t.heap[j].position = i, j
}

// Push implements heap.Interface.
func (t *timers) Push(x any) {
	added := x.(*timer)
	added.position = len(t.heap)
	t.heap = append(t.heap, added)
}

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	n := len(t.heap) - 1
	last := t.heap[n]
	t.heap[n], t.heap = nil, t.heap[:n]
	last.position = -1
	return last
}

// arm sets the real timer for the first of the timers; the caller holds c.mu. A clock that stands wakes nobody but for what is due.
func (c *Clock) arm() {
	if len(c.timers.heap) == 0 {
		return
	}
	left := c.timers.heap[0].at.Sub(c.Now())
	if s := c.reading.Load(); s != nil && !s.FrozenAt.IsZero() && left > 0 {
		return
	}
	left = max(left, 0)
	if c.timers.wake == nil {
		c.timers.wake = time.AfterFunc(left, func() { _ = recovery.Call(nil, "the timers of the clock", c.fire) })
		return
	}
	c.timers.wake.Reset(left)
}

// fire begins what is due, unless a move does so, which sets the real timer at its end.
func (c *Clock) fire() {
	if !c.moving.TryLock() {
		return
	}
	defer c.moving.Unlock()
	for _, t := range c.take(c.Now()) {
		t.f(func() {})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arm()
}

// take removes the timers that are due at now from the heap, and returns them in the order in which they fall due.
func (c *Clock) take(now time.Time) (due []*timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers.heap) > 0 && !c.timers.heap[0].at.After(now) {
		due = append(due, heap.Pop(&c.timers).(*timer))
	}
	return due
}

// next returns the time of the first timer.
func (c *Clock) next() (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers.heap) == 0 {
		return time.Time{}, false
	}
	return c.timers.heap[0].at, true
}

// Stop drops all work that waits.
func (c *Clock) Stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers.heap) > 0 {
		heap.Pop(&c.timers)
	}
	if c.timers.wake != nil {
		c.timers.wake.Stop()
	}
}
