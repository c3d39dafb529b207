// Package clock has the clock of a server: the wall clock, until a lab moves it.
//
// All stamps and all decisions by the wall clock read a Clock. A nil *Clock and its zero value are the wall clock, so that a server
// without a lab has none, and pays a comparison with nil. Durations (timeouts, intervals, the delays of retries) are no business of
// a Clock: they are measured in real time.
//
// A move goes through the times at which something falls due, in their order: work that AfterFunc registered runs at its time and is
// waited for, so that what a day would have brought one after the other happens one after the other. move.go has it; timers.go has
// the work that waits. Everything that decides only when it is asked, such as the authentication of a token, needs no more than Now.
package clock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is a clock that can be moved. Nil and the zero value are the wall clock. It is safe for concurrent use.
type Clock struct {
	// reading is how Now computes the time; nil means the wall clock.
	reading atomic.Pointer[Setting]
	// moves counts the moves.
	moves atomic.Uint64

	moving sync.Mutex // held during a move

	mu      sync.Mutex
	setting Setting       // that the last move set, while a move still goes on too
	changed chan struct{} // closed by the next move; nil until somebody asks
	keepers []func(ctx context.Context)
	idle    map[*func() bool]bool // whose functions Observe got
	timers  timers
}

// Setting is what a Clock shows.
type Setting struct {
	// Offset is the time by which the clock is ahead of the wall clock.
	Offset time.Duration
	// FrozenAt is the time at which the clock stands; zero if it runs.
	FrozenAt time.Time
}

// IsReal reports whether the clock is the wall clock.
func (s Setting) IsReal() bool { return s.Offset == 0 && s.FrozenAt.IsZero() }

// At returns what a clock with the setting shows at a real time.
func (s Setting) At(wall time.Time) time.Time {
	if !s.FrozenAt.IsZero() {
		return s.FrozenAt
	}
	return wall.Add(s.Offset)
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	if c == nil {
		return time.Now()
	}
	if s := c.reading.Load(); s != nil {
		return s.At(time.Now())
	}
	return time.Now()
}

// Setting returns the setting of the clock.
func (c *Clock) Setting() Setting {
	if c == nil {
		return Setting{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setting
}

// Moves returns the number of moves. A cache of something that expires has it in its keys.
func (c *Clock) Moves() uint64 {
	if c == nil {
		return 0
	}
	return c.moves.Load()
}

// Changed returns a channel that is closed at the end of the next move. That of a nil Clock is nil: it never moves.
func (c *Clock) Changed() <-chan struct{} {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// Until returns when the clock has reached t, however it got there, or with the error of ctx when that is done first.
func (c *Clock) Until(ctx context.Context, t time.Time) error {
	reached := make(chan struct{})
	stop := c.AfterFunc(t, func(done func()) {
		close(reached)
		done()
	})
	defer stop()
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
