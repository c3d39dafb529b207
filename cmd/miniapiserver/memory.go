package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// What the collector lets gather beside what is in use, before it runs again. A
// server that has little to keep stays small. One that works gets room, so that
// the same objects are not looked through again and again, and where it keeps
// much, its caches, less beside them than Go would give.
const (
	smallHeap    = 24 << 20 // bytes in use of a server that just started
	smallPercent = 50
	room         = 64 << 20 // bytes, or
	roomPercent  = 30       // of what is in use, if that is more
)

// tuneMemory leaves the choice to who set GOGC.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		paceCollector()
	}
}

// paceCollector sets when the collector runs next, and calls itself when it did.
func paceCollector() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
	runtime.AddCleanup(&struct{ self *byte }{}, func(struct{}) { paceCollector() }, struct{}{})
}

// gcPercent is what may gather beside so many bytes in use, in percent of them.
func gcPercent(inUse uint64) int {
	if inUse <= smallHeap {
		return smallPercent
	}
	return max(roomPercent, int(100*room/inUse))
}
