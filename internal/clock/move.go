package clock

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a move in real time.
const (
	// stepTime is the maximum time for which a move waits for what falls due at one time.
	stepTime = 2 * time.Second
	// moveTime is the time after which a move waits for nothing any more: the clock goes to its new time, and all that is due is
	// begun in its order.
	moveTime = 10 * time.Second
)

// Tolerance is the time by which a move may end before the present time: that of the request which asked for it.
const Tolerance = 15 * time.Second

// ErrBack is the error of a move to an earlier time.
var ErrBack = errors.New("the clock does not go back; only a reset to real time does")

// Keep registers a function that is called whenever a move has changed the time, before the work that falls due then runs. It renews what
// the server would have renewed in the time that was skipped, and must return soon.
func (c *Clock) Keep(f func(ctx context.Context)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepers = append(c.keepers, f)
}

// Restore gives a clock that nothing uses yet a setting.
func (c *Clock) Restore(s Setting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setting = s
	c.show(s)
}

// Move moves the clock, and returns when what falls due until then has happened, or after a bounded time. The new time must not be
// before the present one, but for the time that a request takes, unless the setting is that of the wall clock. ctx has values for the
// keepers only: a move is not interrupted.
func (c *Clock) Move(ctx context.Context, to Setting) error {
	c.moving.Lock()
	defer c.moving.Unlock()
	from := c.Now()
	target := to.At(time.Now())
	if from.Sub(target) > Tolerance && !to.IsReal() {
		return ErrBack
	}
	c.mu.Lock()
	c.setting = to
	c.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	c.settle()
	if target.After(from) {
		c.advance(ctx, from, target)
	}
	c.show(to)
	c.moves.Add(1)
	c.keep(ctx)
	c.announce()
	c.settle()
	return nil
}

// announce wakes those who wait for the end of a move.
func (c *Clock) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
	c.arm()
}

const (
	// quietTime is the time for which everything must be idle to count as settled: somebody may be about to learn of a change.
	quietTime = 5 * time.Millisecond
	// settleTime bounds the wait for that.
	settleTime = 250 * time.Millisecond
)

// Observe registers a function that reports whether somebody who waits for times of the clock is idle. A move begins and ends when
// everybody is, so that what was written just before it has its time, and what follows from it has happened. The returned function
// ends that.
func (c *Clock) Observe(isIdle func() bool) (end func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil {
		c.idle = map[*func() bool]bool{}
	}
	c.idle[&isIdle] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.idle, &isIdle)
	}
}

// settle waits, for a bounded time, until everybody has been idle for a moment.
func (c *Clock) settle() {
	c.mu.Lock()
	observed := slices.Collect(maps.Keys(c.idle))
	c.mu.Unlock()
	if len(observed) == 0 {
		return
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begun, busy := time.Now(), time.Now(); time.Since(busy) < quietTime && time.Since(begun) < settleTime; <-tick.C {
		if slices.ContainsFunc(observed, func(isIdle *func() bool) bool { return !(*isIdle)() }) {
			busy = time.Now()
		}
	}
}

// advance goes from one time to a later one by the times at which something falls due.
func (c *Clock) advance(ctx context.Context, from, to time.Time) {
	now, end := from, time.Now().Add(moveTime)
	for {
		at, ok := c.next()
		if !ok || at.After(to) {
			return
		}
		if at.After(now) {
			now = at
		}
		isLate := time.Now().After(end)
		if isLate {
			now = to
		}
		c.show(Setting{FrozenAt: now.Round(0)})
		c.keep(ctx)
		ended := c.begin(now)
		if isLate {
			return
		}
		await(ended)
	}
}

// begin begins what is due at now, in its order, and returns a channel that is closed when it is done.
func (c *Clock) begin(now time.Time) <-chan struct{} {
	due := c.take(now)
	ended := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(len(due)) + 1)
	done := func() {
		if left.Add(-1) == 0 {
			close(ended)
		}
	}
	for _, t := range due {
		t.f(sync.OnceFunc(done))
	}
	done()
	return ended
}

// await waits for the work of a step.
func await(ended <-chan struct{}) {
	bound := time.NewTimer(stepTime)
	defer bound.Stop()
	select {
	case <-ended:
	case <-bound.C:
	}
}

// show makes s what Now returns.
func (c *Clock) show(s Setting) {
	if s.IsReal() {
		c.reading.Store(nil)
		return
	}
	c.reading.Store(&s)
}

// keep calls the keepers.
func (c *Clock) keep(ctx context.Context) {
	c.mu.Lock()
	keepers := c.keepers
	c.mu.Unlock()
	for _, f := range keepers {
		f(ctx)
	}
}
