package handlers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace counts the writes that are possible in a time.
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
			t.Errorf("%d writes in the time for 100 that follow", n)
		}
		time.Sleep(watchBurst) // synctest's time
		began := time.Now()
		for range burst / 2 {
			p.rest(t.Context())
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("a burst after a quiet time was held up by %v", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 * burst {
			p.rest(ctx)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("rested for %v though the watch was over", d)
		}
	})
}
