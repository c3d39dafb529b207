package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage that may accumulate before the collector runs again. A server with
// little data stays small. A larger heap gets room, so that the collector does not
// scan the same objects too often, but with large caches less room than by Go's
// default of 100 percent.
const (
	smallHeap    = 24 << 20 // live bytes of a server that has just started
	smallPercent = 50
	room         = 64 << 20 // bytes, or
	roomPercent  = 30       // of the live bytes, if that is more
)

// tuneMemory starts the pacing, unless the environment sets GOGC.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
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
	return max(roomPercent, int(100*room/inUse))
}
