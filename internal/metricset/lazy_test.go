package metricset

import (
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// TestLater checks that a series which is made later has everything that was counted before and after it was made, that
// it is not made before the metrics are read unless it is used often, and that it is deleted like others.
func TestLater(t *testing.T) {
	var set Set
	counts := set.CounterVec("counts", "[ALPHA] Counts.", "name")
	times := set.HistogramVec("times", "[ALPHA] Times.", []float64{1}, "name")
	reg := prometheus.NewRegistry()
	if err := set.Register(reg); err != nil {
		t.Fatal(err)
	}
	made := 0
	count := set.LaterCounter(func() prometheus.Counter { made++; return counts.WithLabelValues("a") })
	set.LaterCounter(func() prometheus.Counter { return counts.WithLabelValues("unused") })
	time := set.LaterObserver(func() prometheus.Observer { made++; return times.WithLabelValues("a") })
	often := set.LaterObserver(func() prometheus.Observer { made++; return times.WithLabelValues("often") })
	use := func() {
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				count.Inc()
				count.Add(2)
				time.Observe(2)
				for range maxValues {
					often.Observe(0.5)
				}
			})
		}
		wg.Wait()
	}
	use()
	if made != 1 {
		t.Errorf("%d series were made, want that of many values", made)
	}
	check := func(rounds int) {
		t.Helper()
		got := gather(t, reg)
		if v := got["counts a"].GetCounter().GetValue(); v != float64(30*rounds) {
			t.Errorf("counted %v", v)
		}
		if got["counts unused"].GetCounter() == nil {
			t.Error("a counter of nothing is not shown")
		}
		for name, n := range map[string]int{"times a": 10, "times often": 10 * maxValues} {
			if h := got[name].GetHistogram(); h.GetSampleCount() != uint64(n*rounds) {
				t.Errorf("%s: %v", name, h)
			}
		}
	}
	check(1)
	use()
	check(2)
	if made != 3 {
		t.Errorf("series were made %d times", made)
	}
	set.LaterCounter(func() prometheus.Counter { return counts.WithLabelValues("b") }).Inc()
	if n := set.DeletePartialMatch(prometheus.Labels{"name": "b"}); n != 1 || gather(t, reg)["counts b"] != nil {
		t.Errorf("%d series were deleted", n)
	}
}

// gather returns the series of a registry by their name and label.
func gather(t *testing.T, reg *prometheus.Registry) map[string]*dto.Metric {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]*dto.Metric{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			series[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m
		}
	}
	return series
}
