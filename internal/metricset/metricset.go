// Package metricset defines metrics. A definition has the name of a metric, its help, which begins
// with the stability, its buckets and its labels, and adds it to the Set that a package registers.
package metricset

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Set is a collector of metrics that are defined and registered together. The zero value is empty. A
// Set is safe for concurrent use once all of its metrics are defined.
type Set struct {
	collectors []prometheus.Collector
	descs      []*prometheus.Desc

	mu     sync.Mutex
	unmade []interface{ make() } // counters and observers whose series the next reading makes
}

// Register registers the metrics; reg may be nil.
func (s *Set) Register(reg prometheus.Registerer) error {
	if reg == nil {
		return nil
	}
	if err := reg.Register(s); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (s *Set) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range s.collectors {
		c.Describe(ch)
	}
	for _, d := range s.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Set) Collect(ch chan<- prometheus.Metric) {
	s.makeAll()
	for _, c := range s.collectors {
		c.Collect(ch)
	}
}

// DeletePartialMatch deletes the series with these labels, and returns their number.
func (s *Set) DeletePartialMatch(labels prometheus.Labels) (n int) {
	s.makeAll() // so that none of them is made afterwards
	for _, c := range s.collectors {
		if v, ok := c.(interface {
			DeletePartialMatch(prometheus.Labels) int
		}); ok {
			n += v.DeletePartialMatch(labels)
		}
	}
	return n
}

// Add adds a metric of another type, and returns it.
func Add[C prometheus.Collector](s *Set, c C) C {
	s.collectors = append(s.collectors, c)
	return c
}

// Desc defines a metric whose owner makes the series when they are read.
func (s *Set) Desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	s.descs = append(s.descs, d)
	return d
}

// Counter defines a counter.
func (s *Set) Counter(name, help string) prometheus.Counter {
	return Add(s, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

// CounterVec defines a counter with labels.
func (s *Set) CounterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return Add(s, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// Gauge defines a gauge.
func (s *Set) Gauge(name, help string) prometheus.Gauge {
	return Add(s, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

// GaugeVec defines a gauge with labels.
func (s *Set) GaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return Add(s, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// Histogram defines a histogram, by default with prometheus.DefBuckets.
func (s *Set) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	return Add(s, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}))
}

// HistogramVec is Histogram with labels.
func (s *Set) HistogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return Add(s, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

// NativeHistogram defines a histogram with native buckets beside the classic ones, which have no
// default. Native buckets are exponential, and only in the protobuf format of metrics; package
// internal/metrics removes them from responses without the gate NativeHistograms.
//
// kube-apiserver gives native buckets to the histograms that it registers when the gates are known.
// Those that it registers earlier, such as the ones of admission and of queues, have classic buckets
// only.
func (s *Set) NativeHistogram(name, help string, buckets []float64) prometheus.Histogram {
	return Add(s, prometheus.NewHistogram(nativeOpts(name, help, buckets)))
}

// NativeHistogramVec is NativeHistogram with labels.
func (s *Set) NativeHistogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return Add(s, prometheus.NewHistogramVec(nativeOpts(name, help, buckets), labels))
}

// nativeOpts returns the options of native buckets of Kubernetes: a bucket is at most 10 % wider than
// the one before.
func nativeOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160}
}
