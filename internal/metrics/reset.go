package metrics

import (
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// Reset sets the counters, histograms and summaries with labels to zero, as kube-apiserver does.
// Gauges show a present state and keep it, as do metrics without labels and those of the process.
//
// Code that counts holds on to its series, so that a series must not be replaced. Reset therefore
// remembers the present values, and Gather subtracts them.
func (r *Registry) Reset() error {
	r.undescribed.describe()
	families, err := r.metrics.Gather()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.baseline = map[string]*dto.Metric{}
	for _, f := range families {
		if d := r.known[f.GetName()]; !d.resettable {
			continue
		}
		for _, m := range f.Metric {
			if m.Gauge != nil {
				break
			}
			r.baseline[f.GetName()+labelText(m.Label)] = m
		}
	}
	return err
}

// sinceReset replaces the values of a family by those since the last Reset, and drops the series
// that have not changed since; the caller holds r.mu.
func (r *Registry) sinceReset(f *dto.MetricFamily) {
	if len(r.baseline) == 0 || !r.known[f.GetName()].resettable {
		return
	}
	f.Metric = slices.Clone(f.Metric)
	f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool {
		before := r.baseline[f.GetName()+labelText(m.Label)]
		return before != nil && countOf(m) == countOf(before)
	})
	for i, m := range f.Metric {
		// A series with a lower value than before was deleted meanwhile, and began again.
		if before := r.baseline[f.GetName()+labelText(m.Label)]; before != nil && countOf(m) > countOf(before) {
			f.Metric[i] = difference(m, before)
		}
	}
}

// countOf returns the value of a counter, or the number of observations of a histogram or a summary.
func countOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount())
	case m.Summary != nil:
		return float64(m.Summary.GetSampleCount())
	}
	return 0
}

// difference returns the increase of a metric since before. The quantiles of a summary are those of
// its own time window.
func difference(m, before *dto.Metric) *dto.Metric {
	out := &dto.Metric{Label: m.Label}
	switch {
	case m.Counter != nil:
		out.Counter = &dto.Counter{Value: minus(m.Counter.GetValue(), before.Counter.GetValue())}
	case m.Histogram != nil:
		a, b := m.Histogram, before.Histogram
		out.Histogram = &dto.Histogram{SampleCount: minus(a.GetSampleCount(), b.GetSampleCount()),
			SampleSum: minus(a.GetSampleSum(), b.GetSampleSum())}
		for i, bucket := range a.Bucket { // the buckets of a series do not change
			out.Histogram.Bucket = append(out.Histogram.Bucket, &dto.Bucket{
				UpperBound: bucket.UpperBound, CumulativeCount: minus(bucket.GetCumulativeCount(), b.Bucket[i].GetCumulativeCount()),
			})
		}
		combineNative(out.Histogram, a, b, -1)
	case m.Summary != nil:
		a, b := m.Summary, before.Summary
		out.Summary = &dto.Summary{SampleCount: minus(a.GetSampleCount(), b.GetSampleCount()),
			SampleSum: minus(a.GetSampleSum(), b.GetSampleSum()), Quantile: a.Quantile}
	}
	return out
}

func minus[T uint64 | float64](a, b T) *T {
	rest := a - b
	return &rest
}
