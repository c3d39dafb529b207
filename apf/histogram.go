package apf

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// histogram counts observations by size. It is guarded by the lock of what it
// is about, so that an observation costs an addition.
type histogram struct {
	bounds []float64 // shared
	counts []uint64  // by bound, and one for what is above all
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) add(v float64, n uint64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i] += n
	h.sum += v * float64(n)
}

func (h *histogram) observe(v float64) { h.add(v, 1) }

// pass observes, at the end of every nanosecond of d, that something is n out of
// so many.
func (h *histogram) pass(d time.Duration, n, of int) {
	h.add(float64(n)/float64(max(of, 1)), uint64(d))
}

// metric is h as Prometheus has it.
func (h *histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.bounds))
	var n uint64
	for i, b := range h.bounds {
		n += h.counts[i]
		buckets[b] = n
	}
	return prometheus.MustNewConstHistogram(desc, n+h.counts[len(h.bounds)], h.sum, buckets, labels...)
}

// observed tells whether there was anything yet.
func (h *histogram) observed() bool {
	for _, n := range h.counts {
		if n > 0 {
			return true
		}
	}
	return false
}
