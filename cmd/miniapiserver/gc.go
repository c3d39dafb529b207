package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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
		debug.FreeOSMemory()
		paceCollector()
	}
}

// paceCollector sets when the collector runs next. A cleanup calls it again after
// that run.
func paceCollector() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
	runtime.AddCleanup(&struct{ self *byte }{}, func(struct{}) { paceCollector() }, struct{}{})
}

// gcPercent returns the garbage that may accumulate, in percent of the live bytes.
func gcPercent(inUse uint64) int {
	if inUse <= smallHeap {
		return smallPercent
	}
	return max(headroomPercent, int(100*headroom/inUse))
}
