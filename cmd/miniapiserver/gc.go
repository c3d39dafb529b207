package main

import (
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Garbage collector settings. A server with little data stays small. A larger heap gets headroom,
// so that the collector does not scan the same objects too often, but with large caches less than
// Go's default of 100 percent.
const (
	smallHeap       = 24 << 20 // live bytes of a server that has just started
	smallPercent    = 50
	headroom        = 64 << 20 // bytes, or
	headroomPercent = 30       // of the live bytes, if that is more

	// startPercent keeps the collector from running before the heap has 64 MiB. A start
	// allocates less than half of that, and would have to help the collector where others wait for it.
	startPercent = 1600

	// quietTime is the time without a collection after which the server is quiet, and returns memory to the system.
	quietTime = 20 * time.Second
	// worthwhile is the number of allocated bytes from which it looks for garbage again.
	worthwhile = 8 << 20
)

// startMemory is for the start of the process. tuneMemory follows it.
func startMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startPercent)
	}
}

// tuneMemory collects what the start has left, returns its pages to the system, and starts the pacing,
// unless the environment sets GOGC.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		returnMemory()
		paceCollector()
	}
}

// returnMemory collects garbage, and returns the pages that are not used to the system.
func returnMemory() {
	debug.FreeOSMemory()
	if err := releaseProgramPages(); err != nil {
		slog.Debug("pages of the program stay in memory", "error", err)
	}
}

// paceCollector sets when the collector runs next. A cleanup calls it again after
// that run.
func paceCollector() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
	quiet.collected()
	runtime.AddCleanup(&struct{ self *byte }{}, func(struct{}) { paceCollector() }, struct{}{})
}

// quiet returns memory to the system once the server is quiet: the collector runs only when memory is allocated, so it
// would find the garbage of the last requests when the next ones come.
var quiet quietMemory

type quietMemory struct {
	timer *time.Timer // set at the first call of collected
	// allocated are the bytes that were allocated before the last release.
	allocated atomic.Uint64
}

// collected says that the collector has run. It is not called concurrently.
func (q *quietMemory) collected() {
	if allocatedBytes()-q.allocated.Load() < worthwhile {
		return // it ran for release, or because two minutes have passed
	}
	if q.timer != nil {
		q.timer.Reset(quietTime)
		return
	}
	q.timer = time.AfterFunc(quietTime, func() { _ = recovery.Call(slog.Default(), "returning memory", q.release) })
}

// release collects all garbage and returns its pages.
func (q *quietMemory) release() {
	q.allocated.Store(allocatedBytes())
	runtime.GC() // what has a finalizer is free after the next collection
	returnMemory()
}

// allocatedBytes returns the number of bytes that were ever allocated.
func allocatedBytes() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// gcPercent returns the garbage that may accumulate, in percent of the live bytes.
func gcPercent(inUse uint64) int {
	if inUse <= smallHeap {
		return smallPercent
	}
	return max(headroomPercent, int(100*headroom/inUse))
}
