package metrics

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// bound replaces the values of a label that are not permitted, and adds up the series that are
// equal then; the caller holds r.mu. Series are shared with the metrics that they were read
// from, so bound changes copies.
func (r *Registry) bound(f *dto.MetricFamily, label Label) {
	allowed := r.options.Allowed[label]
	sums := map[string]*dto.Metric{}
	var kept []*dto.Metric
	for _, m := range f.Metric {
		at := slices.IndexFunc(m.Label, func(p *dto.LabelPair) bool { return p.GetName() == label.Name })
		if at < 0 || slices.Contains(allowed, m.Label[at].GetValue()) {
			kept = append(kept, m)
			continue
		}
		key := f.GetName() + labelText(m.Label)
		if _, counted := r.bounded[key]; !counted && m.Label[at].GetValue() != Unexpected {
			r.bounded[key] = struct{}{}
			r.unexpected.Inc()
		}
		labels := slices.Clone(m.Label)
		name, value := label.Name, Unexpected
		labels[at] = &dto.LabelPair{Name: &name, Value: &value}
		one := &dto.Metric{Label: labels, Counter: m.Counter, Gauge: m.Gauge, Untyped: m.Untyped, Summary: m.Summary, Histogram: m.Histogram}
		text := labelText(labels)
		if sum := sums[text]; sum != nil {
			add(sum, one)
			continue
		}
		sums[text] = one
		kept = append(kept, one)
	}
	f.Metric = kept
}

// unexpectedTotal is the metric that counts the series that bound replaces.
const unexpectedTotal = "cardinality_enforcement_unexpected_categorizations_total"

// countBounded shows the series that were first replaced for this response in it, as kube-apiserver
// does, which counts them when they appear.
func (r *Registry) countBounded(families []*dto.MetricFamily) {
	for _, f := range families {
		if f.GetName() == unexpectedTotal && len(f.Metric) == 1 {
			now := &dto.Metric{}
			if r.unexpected.Write(now) == nil {
				f.Metric = []*dto.Metric{now}
			}
		}
	}
}

func labelText(labels []*dto.LabelPair) string {
	var b strings.Builder
	for _, p := range labels {
		b.WriteString("\x00" + p.GetName() + "\x00" + p.GetValue())
	}
	return b.String()
}

// add adds other to sum, which has the same type. The quantiles of summaries cannot be added, so
// the sum has none.
func add(sum, other *dto.Metric) {
	switch {
	case sum.Counter != nil:
		sum.Counter = &dto.Counter{Value: plus(sum.Counter.GetValue(), other.Counter.GetValue())}
	case sum.Gauge != nil:
		sum.Gauge = &dto.Gauge{Value: plus(sum.Gauge.GetValue(), other.Gauge.GetValue())}
	case sum.Untyped != nil:
		sum.Untyped = &dto.Untyped{Value: plus(sum.Untyped.GetValue(), other.Untyped.GetValue())}
	case sum.Summary != nil:
		sum.Summary = &dto.Summary{
			SampleCount: plus(sum.Summary.GetSampleCount(), other.Summary.GetSampleCount()),
			SampleSum:   plus(sum.Summary.GetSampleSum(), other.Summary.GetSampleSum()),
		}
	case sum.Histogram != nil:
		sum.Histogram = addHistograms(sum.Histogram, other.Histogram)
	}
}

func addHistograms(a, b *dto.Histogram) *dto.Histogram {
	out := &dto.Histogram{SampleCount: plus(a.GetSampleCount(), b.GetSampleCount()), SampleSum: plus(a.GetSampleSum(), b.GetSampleSum())}
	for i, bucket := range a.Bucket { // the buckets of a family are the same
		out.Bucket = append(out.Bucket, &dto.Bucket{
			UpperBound:      bucket.UpperBound,
			CumulativeCount: plus(bucket.GetCumulativeCount(), b.Bucket[i].GetCumulativeCount()),
		})
	}
	combineNative(out, a, b, 1)
	return out
}

func plus[T uint64 | float64](a, b T) *T {
	sum := a + b
	return &sum
}
