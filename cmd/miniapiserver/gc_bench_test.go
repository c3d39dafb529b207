package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// BenchmarkCollector compares the pacing of the garbage collector with Go's default. It
// reports the size to which the heap grows, in MiB, and the time for 1 MiB of garbage in
// small objects.
func BenchmarkCollector(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, pacing := range []string{"default", "paced"} {
		for _, live := range []int{16, 256} {
			b.Run(fmt.Sprintf("%s/%d MiB", pacing, live), func(b *testing.B) {
				kept := allocate(live)
				runtime.GC()
				if pacing == "paced" {
					heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
					metrics.Read(heap)
					debug.SetGCPercent(gcPercent(heap[0].Value.Uint64()))
				}
				for b.Loop() {
					allocate(1)
				}
				goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
				metrics.Read(goal)
				b.ReportMetric(float64(goal[0].Value.Uint64()>>20), "MiB")
				runtime.KeepAlive(kept)
			})
		}
	}
}

// allocate returns a number of MiB in small objects.
func allocate(mib int) [][]*[64]byte {
	const perMiB = 1 << 20 / (64 + 8)
	out := make([][]*[64]byte, mib)
	for i := range out {
		out[i] = make([]*[64]byte, perMiB)
		for j := range out[i] {
			out[i][j] = new([64]byte)
		}
	}
	return out
}
