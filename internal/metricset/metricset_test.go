package metricset

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestSet registers a metric of each type, and compares what a registry shows of them.
func TestSet(t *testing.T) {
	var set Set
	counts := set.CounterVec("counts", "[ALPHA] Counts.", "kind", "name")
	counts.WithLabelValues("a", "x").Add(2)
	counts.WithLabelValues("a", "y").Inc()
	counts.WithLabelValues("b", "x").Inc()
	set.Counter("count", "[ALPHA] Count.").Inc()
	set.Gauge("gauge", "[ALPHA] Gauge.").Set(3)
	set.GaugeVec("gauges", "[ALPHA] Gauges.", "kind").WithLabelValues("b").Set(4)
	set.Histogram("classic", "[ALPHA] Classic.", []float64{1, 2}).Observe(1.5)
	set.HistogramVec("classics", "[ALPHA] Classics.", nil, "kind").WithLabelValues("b").Observe(1.5)
	set.NativeHistogram("native", "[ALPHA] Native.", []float64{1, 2}).Observe(1.5)
	set.NativeHistogramVec("natives", "[ALPHA] Natives.", []float64{1, 2}, "kind").WithLabelValues("b").Observe(1.5)
	Add(&set, prometheus.NewSummary(prometheus.SummaryOpts{Name: "summary", Help: "[ALPHA] Summary."})).Observe(1)
	read := set.Desc("read", "[ALPHA] Read.", "kind")

	if err := set.Register(nil); err != nil {
		t.Error(err)
	}
	reg := prometheus.NewRegistry()
	if err := set.Register(reg); err != nil {
		t.Fatal(err)
	}
	if err := set.Register(reg); err == nil {
		t.Error("a second registration has no error")
	}
	if n := set.DeletePartialMatch(prometheus.Labels{"kind": "a"}); n != 2 {
		t.Errorf("%d series were deleted, want 2", n)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		got = append(got, f.GetName()+" "+f.GetType().String()+" "+f.GetHelp())
		if len(f.Metric) != 1 {
			t.Errorf("%s has %d series, want 1", f.GetName(), len(f.Metric))
		}
		if h := f.Metric[0].Histogram; h != nil {
			if isNative := h.Schema != nil; isNative != strings.HasPrefix(f.GetName(), "native") {
				t.Errorf("%s: native buckets: %t", f.GetName(), isNative)
			}
			want := 2
			if f.GetName() == "classics" {
				want = len(prometheus.DefBuckets)
			}
			if len(h.Bucket) != want {
				t.Errorf("%s has %d buckets, want %d", f.GetName(), len(h.Bucket), want)
			}
		}
	}
	want := []string{
		"classic HISTOGRAM [ALPHA] Classic.", "classics HISTOGRAM [ALPHA] Classics.", "count COUNTER [ALPHA] Count.",
		"counts COUNTER [ALPHA] Counts.", "gauge GAUGE [ALPHA] Gauge.", "gauges GAUGE [ALPHA] Gauges.",
		"native HISTOGRAM [ALPHA] Native.", "natives HISTOGRAM [ALPHA] Natives.", "summary SUMMARY [ALPHA] Summary.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := reg.Register(constant{read}); err == nil {
		t.Error("the description of a metric that its owner makes is not registered")
	}
}

// constant is a metric that an owner makes when it is read.
type constant struct{ desc *prometheus.Desc }

func (c constant) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }
func (c constant) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, 1, "a")
}
