package handlers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace checks how many writes are possible in a time, with and without a burst.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		defer p.stop()
		writes := func(d time.Duration) int {
			n := 0
			for end := time.Now().Add(d); time.Now().Before(end); n++ {
				p.rest(t.Context())
			}
			return n
		}
		const burst = int(watchBurst / watchPace)
		if n := writes(100 * watchPace); n < 100 || n > 101+burst {
			t.Errorf("%d writes in the time for 100", n)
		}
		if n := writes(100 * watchPace); n < 99 || n > 101 {
			t.Errorf("%d writes in the next time for 100", n)
		}
		time.Sleep(watchBurst) // in the fake time of synctest
		began := time.Now()
		for range burst / 2 {
			p.rest(t.Context())
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("a burst after a pause was delayed by %v", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 * burst {
			p.rest(ctx)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("rested for %v after the end of the watch", d)
		}
	})
}
