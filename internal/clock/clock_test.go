package clock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// move moves a clock.
func move(t testing.TB, c *Clock, s Setting) {
	t.Helper()
	if err := c.Move(context.Background(), s); err != nil {
		t.Fatal(err)
	}
}

// TestWallClock checks that a nil clock and a new one are the wall clock.
func TestWallClock(t *testing.T) {
	for name, c := range map[string]*Clock{"nil": nil, "zero": {}} {
		synctest.Test(t, func(t *testing.T) {
			if got := c.Now(); !got.Equal(time.Now()) {
				t.Errorf("%s: it shows %v", name, got)
			}
			if s := c.Setting(); !s.IsReal() || c.Moves() != 0 {
				t.Errorf("%s: it is set to %+v", name, s)
			}
			c.Keep(func(context.Context) { t.Error("a keeper is called") })
			start := time.Now()
			if err := c.Until(t.Context(), start.Add(time.Hour)); err != nil || time.Since(start) != time.Hour {
				t.Errorf("%s: it waits for %v: %v", name, time.Since(start), err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := c.Until(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: after the end of the context: %v", name, err)
			}
			c.Stop()
		})
	}
	if (*Clock)(nil).Changed() != nil {
		t.Error("the wall clock changes")
	}
}

// TestNowAllocates checks that reading a clock allocates nothing.
func TestNowAllocates(t *testing.T) {
	moved := &Clock{}
	move(t, moved, Setting{Offset: time.Hour})
	frozen := &Clock{}
	move(t, frozen, Setting{FrozenAt: time.Now().Add(time.Hour)})
	for name, c := range map[string]*Clock{"nil": nil, "zero": {}, "moved": moved, "frozen": frozen} {
		now := c.Now
		if n := testing.AllocsPerRun(100, func() { _ = now() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestMove checks what a clock shows after moves, and which are refused.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Clock{}
		defer c.Stop()
		changed := c.Changed()
		move(t, c, Setting{Offset: time.Hour})
		<-changed
		if d := time.Until(c.Now()); d != time.Hour || c.Moves() != 1 {
			t.Errorf("it is %v ahead after %d moves", d, c.Moves())
		}
		time.Sleep(time.Minute)
		if d := time.Until(c.Now()); d != time.Hour {
			t.Errorf("a minute later it is %v ahead", d)
		}
		if err := c.Move(t.Context(), Setting{Offset: 30 * time.Minute}); !errors.Is(err, ErrBack) {
			t.Errorf("going back: %v", err)
		}
		at := time.Now().Add(2 * time.Hour)
		move(t, c, Setting{Offset: time.Hour, FrozenAt: at})
		time.Sleep(time.Minute)
		if !c.Now().Equal(at) {
			t.Errorf("it stands at %v, and shows %v", at, c.Now())
		}
		if err := c.Move(t.Context(), Setting{Offset: time.Hour}); !errors.Is(err, ErrBack) {
			t.Errorf("it goes back to run: %v", err)
		}
		move(t, c, Setting{Offset: 3 * time.Hour})
		move(t, c, Setting{})
		if !c.Now().Equal(time.Now()) || !c.Setting().IsReal() {
			t.Errorf("after the reset it shows %v", c.Now())
		}
	})
}

// TestTimers checks that work runs at its time, by itself and by moves, and not while the clock stands.
func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Clock{}
		defer c.Stop()
		var ran atomic.Int32
		after := func(d time.Duration) func() bool {
			return c.AfterFunc(c.Now().Add(d), func(done func()) { ran.Add(1); done() })
		}
		expect := func(what string, n int32) {
			t.Helper()
			synctest.Wait()
			if got := ran.Swap(0); got != n {
				t.Errorf("%s: %d ran, not %d", what, got, n)
			}
		}
		after(time.Hour)
		after(10 * time.Minute)
		stop := after(5 * time.Minute)
		if !stop() || stop() {
			t.Error("work is not stopped once")
		}
		time.Sleep(9 * time.Minute)
		expect("nine minutes", 0)
		time.Sleep(2 * time.Minute)
		expect("eleven minutes", 1)
		move(t, c, Setting{Offset: 48 * time.Minute})
		expect("just short of an hour", 0)
		move(t, c, Setting{Offset: 50 * time.Minute})
		expect("an hour", 1)
		after(time.Minute)
		move(t, c, Setting{Offset: 50 * time.Minute, FrozenAt: c.Now()})
		time.Sleep(time.Hour)
		expect("a clock that stands", 0)
		after(-time.Second)
		expect("what is due on a clock that stands", 1)
		move(t, c, Setting{Offset: 50 * time.Minute})
		expect("the clock runs again", 1)
		after(time.Hour)
		c.Stop()
		time.Sleep(2 * time.Hour)
		expect("after the end", 0)
	})
}

// TestChain checks that work which falls due may have more work fall due, that keepers are called before it, and that a move ends although
// work does not.
func TestChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Clock{}
		defer c.Stop()
		start := c.Now()
		var kept []time.Duration
		c.Keep(func(context.Context) { kept = append(kept, c.Now().Sub(start)) })
		var at []time.Duration
		var tick func(done func())
		tick = func(done func()) {
			at = append(at, c.Now().Sub(start))
			c.AfterFunc(c.Now().Add(time.Hour), tick)
			done()
		}
		c.AfterFunc(start.Add(time.Hour), tick)
		move(t, c, Setting{Offset: 3*time.Hour + time.Minute})
		if want := []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour}; !slices.Equal(at, want) {
			t.Errorf("it ran at %v", at)
		}
		if want := append(slices.Clone(at), 3*time.Hour+time.Minute); !slices.Equal(kept, want) {
			t.Errorf("keepers ran at %v", kept)
		}
		c.AfterFunc(start.Add(3*time.Hour+2*time.Minute), func(func()) {}) // is never done
		began := time.Now()
		move(t, c, Setting{Offset: 3*time.Hour + 3*time.Minute})
		if took := time.Since(began); took != stepTime {
			t.Errorf("the move took %v", took)
		}
	})
}

// TestLateMove checks that a move whose work takes too long begins all of it in its order, and ends.
func TestLateMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Clock{}
		defer c.Stop()
		start, ran := c.Now(), []int(nil)
		var mu sync.Mutex
		for i := range 50 {
			c.AfterFunc(start.Add(time.Duration(50-i)*time.Minute), func(func()) {
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, 50-i)
			})
		}
		began := time.Now()
		move(t, c, Setting{Offset: time.Hour})
		if took := time.Since(began); took > moveTime+stepTime {
			t.Errorf("the move took %v", took)
		}
		if len(ran) != 50 || !slices.IsSorted(ran) {
			t.Errorf("work ran in the order %v", ran)
		}
	})
}

// TestOrder checks for random work and moves that everything runs once, in the order of its times, at its time, and not before.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			c := &Clock{}
			defer c.Stop()
			type run struct{ at, due time.Time }
			var ran []run
			var left atomic.Int32
			for range rapid.IntRange(1, 30).Draw(r, "timers") {
				due := c.Now().Add(time.Duration(rapid.IntRange(0, 3600).Draw(r, "due")) * time.Second)
				left.Add(1)
				c.AfterFunc(due, func(done func()) {
					ran = append(ran, run{c.Now(), due})
					left.Add(-1)
					done()
				})
			}
			end := c.Now().Add(time.Hour)
			for s := (Setting{}); c.Now().Before(end); {
				s.Offset += time.Duration(rapid.IntRange(1, 2000).Draw(r, "seconds")) * time.Second
				move(t, c, s)
				time.Sleep(time.Duration(rapid.IntRange(0, 60).Draw(r, "pause")) * time.Second)
			}
			synctest.Wait()
			if left.Load() != 0 {
				r.Fatalf("%d have not run", left.Load())
			}
			for i, x := range ran {
				if !x.at.Equal(x.due) {
					r.Fatalf("what is due at %v ran at %v", x.due, x.at)
				}
				if i > 0 && x.due.Before(ran[i-1].due) {
					r.Fatalf("what is due at %v ran after what is due at %v", x.due, ran[i-1].due)
				}
			}
		})
	})
}

// TestSettle checks that a move begins when those who wait for its times are idle.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Clock{}
		defer c.Stop()
		var isIdle, ran atomic.Bool
		end := c.Observe(isIdle.Load)
		due := c.Now().Add(time.Hour)
		go func() {
			time.Sleep(20 * time.Millisecond)
			c.AfterFunc(due, func(done func()) { ran.Store(true); done() })
			isIdle.Store(true)
		}()
		move(t, c, Setting{Offset: 2 * time.Hour})
		if !ran.Load() {
			t.Error("the work of somebody who was busy did not fall due")
		}
		isIdle.Store(false)
		began := time.Now()
		move(t, c, Setting{Offset: 3 * time.Hour})
		if took := time.Since(began); took > 3*settleTime {
			t.Errorf("with somebody who is always busy, a move took %v", took)
		}
		end()
		began = time.Now()
		move(t, c, Setting{Offset: 4 * time.Hour})
		if took := time.Since(began); took != 0 {
			t.Errorf("without anybody a move took %v", took)
		}
	})
}
