// Package histogram makes histograms with native buckets beside the classic ones. Native buckets are
// exponential, and only in the protobuf format of metrics; package internal/metrics removes them from
// responses without the gate NativeHistograms.
//
// kube-apiserver gives native buckets to the histograms that it registers when the gates are known.
// Those that it registers earlier, such as the ones of admission and of queues, have classic buckets
// only, and are made with package prometheus here.
package histogram

import "github.com/prometheus/client_golang/prometheus"

// New returns a histogram without labels.
func New(o prometheus.HistogramOpts) prometheus.Histogram {
	return prometheus.NewHistogram(withNative(o))
}

// NewVec returns a histogram with labels.
func NewVec(o prometheus.HistogramOpts, labels []string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(withNative(o), labels)
}

// withNative sets the options of native buckets to those of Kubernetes: a bucket is at most 10 %
// wider than the one before.
func withNative(o prometheus.HistogramOpts) prometheus.HistogramOpts {
	o.NativeHistogramBucketFactor, o.NativeHistogramMaxBucketNumber = 1.1, 160
	return o
}
