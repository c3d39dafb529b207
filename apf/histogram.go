package apf

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// histogram counts observations by size. Its owner's lock guards it, so an observation costs
// one addition.
type histogram struct {
	bounds []float64 // shared
	counts []uint64  // by bound, and one more for larger values
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// observe adds n observations of v.
func (h *histogram) observe(v float64, n uint64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i] += n
	h.sum += v * float64(n)
}

// addPeriod adds an observation of n/of for each nanosecond of d.
func (h *histogram) addPeriod(d time.Duration, n, of int) {
	h.observe(float64(n)/float64(max(of, 1)), uint64(d))
}

// metric returns h as a Prometheus metric.
func (h *histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.bounds))
	var n uint64
	for i, b := range h.bounds {
		n += h.counts[i]
		buckets[b] = n
	}
	return prometheus.MustNewConstHistogram(desc, n+h.counts[len(h.bounds)], h.sum, buckets, labels...)
}

// observed reports whether h has observations.
func (h *histogram) observed() bool {
	for _, n := range h.counts {
		if n > 0 {
			return true
		}
	}
	return false
}
