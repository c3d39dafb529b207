package registry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// comparisonMetrics measures how long it takes to find out whether an update changes anything, under kube-apiserver's
// metric name.
type comparisonMetrics struct {
	durations *prometheus.HistogramVec
	// results has the children of durations, each made at its first use.
	results [ssa.Comparisons]func() prometheus.Observer
}

func newComparisonMetrics() *comparisonMetrics {
	m := &comparisonMetrics{durations: new(metricset.Set).NativeHistogramVec("apiserver_request_timestamp_comparison_time",
		"[ALPHA] Time in which an update finds out whether it changes more than the times in managedFields, "+
			"by the result, in seconds.", []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5}, "code_path")}
	for c := range ssa.Comparisons {
		m.results[c] = sync.OnceValue(func() prometheus.Observer { return m.durations.WithLabelValues(c.String()) })
	}
	return m
}

func (m *comparisonMetrics) observe(c ssa.Comparison, took time.Duration) {
	m.results[c]().Observe(took.Seconds())
}

// Metrics returns the metrics of the comparisons of updates.
func (r *Registry) Metrics() prometheus.Collector { return r.comparisons.durations }
