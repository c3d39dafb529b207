package metrics

import (
	"maps"
	"math"
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// few needs less than the maximum number of native buckets, many more, so that its resolution is lower.
func few() []float64 { return []float64{0.5, 3, 3, 0, -2, 1024, 0.001} }

func many() []float64 {
	values := few()
	for power := -200; power < 200; power++ {
		values = append(values, math.Pow(1.3, float64(power)), -math.Pow(1.2, float64(power)))
	}
	return values
}

func nativeTimes() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "times", Help: "[ALPHA] Times.", Buckets: []float64{1, 2},
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160}, []string{"name"})
}

// gathered returns the only histogram of a registry named times.
func gathered(t *testing.T, r *Registry) *dto.Histogram {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "times" && len(f.Metric) == 1 {
			return f.Metric[0].Histogram
		}
	}
	t.Fatal("there is not one series")
	return nil
}

// observed returns the native buckets of a histogram with these values.
func observed(t *testing.T, values ...[]float64) nativeBuckets {
	t.Helper()
	r, times := New(Options{NativeHistograms: true}), nativeTimes()
	r.MustRegister(times)
	one := times.WithLabelValues("a")
	for _, list := range values {
		for _, v := range list {
			one.Observe(v)
		}
	}
	buckets, ok := nativeOf(gathered(t, r))
	if !ok {
		t.Fatal("no native buckets")
	}
	return buckets
}

// same reports whether buckets are equal in the resolution of got. Empty buckets do not count.
func same(got, want nativeBuckets) bool {
	nonEmpty := func(counts map[int32]int64, steps int32) map[int32]int64 {
		counts = maps.Clone(coarser(counts, steps))
		maps.DeleteFunc(counts, func(_ int32, n int64) bool { return n == 0 })
		return counts
	}
	steps := want.schema - got.schema
	return steps >= 0 && got.zero == want.zero && got.zeroThreshold == want.zeroThreshold &&
		reflect.DeepEqual(nonEmpty(got.positive, 0), nonEmpty(want.positive, steps)) &&
		reflect.DeepEqual(nonEmpty(got.negative, 0), nonEmpty(want.negative, steps))
}

// TestNativeBuckets checks that native buckets are shown if they are enabled, and that histograms that
// are added up or reset have those of one histogram with the same values.
func TestNativeBuckets(t *testing.T) {
	if a, b := observed(t, few()), observed(t, many()); a.schema <= b.schema || len(a.negative) != 1 || a.zero != 1 {
		t.Fatalf("%+v, %+v", a, b)
	}
	off, times := New(Options{}), nativeTimes()
	off.MustRegister(times)
	times.WithLabelValues("a").Observe(3)
	if h := gathered(t, off); h.Schema != nil || h.ZeroThreshold != nil || len(h.PositiveSpan) > 0 || len(h.Bucket) != 2 || h.GetSampleSum() != 3 {
		t.Errorf("native buckets are disabled: %v", h)
	}
	for name, c := range map[string]struct{ first, second []float64 }{
		"few": {few(), few()}, "more": {few(), many()}, "less": {many(), few()}, "none": {nil, nil}, "nothing new": {few(), nil},
	} {
		bounded, times := New(Options{NativeHistograms: true, Allowed: map[Label][]string{{"times", "name"}: {}}}), nativeTimes()
		bounded.MustRegister(times)
		reset, later := New(Options{NativeHistograms: true}), nativeTimes()
		reset.MustRegister(later)
		a, b, c1 := times.WithLabelValues("a"), times.WithLabelValues("b"), later.WithLabelValues("c")
		for _, v := range c.first {
			a.Observe(v)
			c1.Observe(v)
		}
		if err := reset.Reset(); err != nil {
			t.Fatal(err)
		}
		for _, v := range c.second {
			b.Observe(v)
			c1.Observe(v)
		}
		sum := gathered(t, bounded)
		if got, ok := nativeOf(sum); !ok || !same(got, observed(t, c.first, c.second)) {
			t.Errorf("%s: the sum is %v", name, sum)
		}
		if len(c.second) == 0 { // the series is not shown
			continue
		}
		since := gathered(t, reset)
		if got, ok := nativeOf(since); !ok || !same(got, observed(t, c.second)) {
			t.Errorf("%s: since the reset %v", name, since)
		}
	}
}
