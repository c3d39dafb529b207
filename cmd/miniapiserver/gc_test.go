package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for _, c := range []struct{ inUse, least, most uint64 }{ // in MB
		{4, 1, 3},
		{24, 10, 13},
		{50, 60, 65},
		{200, 60, 65},
		{4000, 1190, 1210},
	} {
		gathers := c.inUse * uint64(gcPercent(c.inUse<<20)) / 100
		if gathers < c.least || gathers > c.most {
			t.Errorf("%d MB in use: %d MB gather, want %d to %d", c.inUse, gathers, c.least, c.most)
		}
	}
}

// garbage is a variable of the package, so that no stack refers to it.
var garbage [][]*[64]byte

// TestReleaseQuietMemory checks that the garbage of a quiet server goes back to the system, and that its own
// collections are no reason to look again.
func TestReleaseQuietMemory(t *testing.T) {
	released := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	var q quietMemory
	garbage = allocate(64)
	runtime.GC()
	before := released()
	garbage = nil
	q.release()
	if got := int64(released() - before); got < 32<<20 {
		t.Errorf("%d bytes went back", got)
	}
	if q.collected(); q.timer != nil {
		q.timer.Stop()
		t.Error("its own collections are no work of the server")
	}
	garbage = allocate(64)
	runtime.GC()
	if q.collected(); q.timer == nil {
		t.Error("a collection after many allocations does not count")
	} else {
		q.timer.Stop()
	}
	garbage = nil
}
