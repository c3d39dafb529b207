package server

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/storage"
)

// usage is what a process uses.
type usage struct {
	heap, stacks uint64 // bytes
	goroutines   int
	cpu          time.Duration
}

// currentUsage returns the usage of this process, after a collection.
func currentUsage(b *testing.B) usage {
	b.Helper()
	for range 2 { // the second one frees what has a finalizer
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{m.HeapAlloc, m.StackInuse, runtime.NumGoroutine(), cpuTime(b)}
}

// cpuTime returns the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// waits returns how often the threads of this process have waited, which is how often they were woken up.
func waits(b *testing.B) (n int) {
	b.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(files) == 0 {
		b.Skip("the system does not count the waits of threads")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
		count, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		waits, err := strconv.Atoi(count)
		if err != nil {
			b.Fatal(err)
		}
		n += waits
	}
	return n
}

// idleRate returns the number of waits and the processor time of this process in a second.
func idleRate(b *testing.B) (wakeups, cpu float64) {
	b.Helper()
	const span = 10 * time.Second
	time.Sleep(5 * time.Second) // what a start has left to do
	waited, used := waits(b), cpuTime(b)
	time.Sleep(span)
	return float64(waits(b)-waited) / span.Seconds(), (cpuTime(b) - used).Seconds() / span.Seconds()
}

// BenchmarkFurtherServer starts further servers in a process that has one, without a data directory, and reports what
// one of them costs while it has no requests.
func BenchmarkFurtherServer(b *testing.B) {
	storage.PrepareForMany()
	m, err := StartMany(b.Context(), ManyOptions{Count: b.N + 1, Idle: time.Hour, Running: b.N + 1})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := m.Stop(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	start := func(n int) {
		name := strconv.Itoa(n)
		if _, err := m.acquire(b.Context(), name); err != nil {
			b.Fatal(err)
		}
		m.release(name)
	}
	start(1)
	wakeups, idle := idleRate(b)
	before := currentUsage(b)
	b.ResetTimer()
	for n := range b.N {
		start(n + 2)
	}
	b.StopTimer()
	cpu := cpuTime(b) - before.cpu
	wakeupsOfAll, idleOfAll := idleRate(b)
	after := currentUsage(b)
	each := func(value float64, unit string) { b.ReportMetric(value/float64(b.N), unit+"/server") }
	each(cpu.Seconds()*1e3, "cpu-ms")
	each(float64(int64(after.heap-before.heap))/1e6, "heap-MB")
	each(float64(int64(after.stacks-before.stacks))/1e6, "stack-MB")
	each(float64(after.goroutines-before.goroutines), "goroutines")
	each(wakeupsOfAll-wakeups, "wakeups/s")
	each((idleOfAll-idle)*1e3, "idle-cpu-ms/s")
}
