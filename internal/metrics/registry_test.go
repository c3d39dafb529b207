package metrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func counters() (fresh, old, plain prometheus.Counter, codes *prometheus.CounterVec, times *prometheus.HistogramVec) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return counter("fresh_total", "[STABLE] A metric."), counter("old_total", `[ALPHA] (Deprecated since 1.27.0) A "deprecated" metric.`), counter("plain_total", "A metric without a mark."),
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "codes_total", Help: "[BETA] Codes."}, []string{"code", "verb"}),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "times", Help: "[ALPHA] Times.", Buckets: []float64{1, 2}}, []string{"name"})
}

// show registers the metrics of counters, counts something, and returns the values by series.
func show(t *testing.T, o Options) (*Registry, string) {
	t.Helper()
	r := New(o)
	fresh, old, plain, codes, times := counters()
	r.MustRegister(fresh, old, plain, codes, times)
	for code := range 4 {
		codes.WithLabelValues(fmt.Sprint(200+code), "GET").Add(1)
		times.WithLabelValues(fmt.Sprint("n", code)).Observe(float64(code))
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return r, seriesText(families)
}

// seriesText returns a line for each series: its labels, and the values of a counter and a
// histogram.
func seriesText(families []*dto.MetricFamily) string {
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.Metric {
			fmt.Fprintln(&b, f.GetName(), strings.ReplaceAll(labelText(m.Label), "\x00", " "), m.GetCounter().GetValue(), m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum())
		}
	}
	return b.String()
}

func TestRegistryShowsAndHides(t *testing.T) {
	for _, c := range []struct {
		name             string
		o                Options
		want, wantNot    []string
		hidden, disabled float64
	}{
		{"zero", Options{}, []string{"fresh_total", "plain_total", "codes_total", "registered_metrics_total  deprecated_version  stability_level STABLE 1"}, []string{"old_total"}, 1, 0},
		{"hidden are shown", Options{ShowHidden: true}, []string{"old_total", "registered_metrics_total  deprecated_version 1.27.0 stability_level ALPHA 1"}, nil, 0, 0},
		{"one is kept", Options{KeepDeprecated: []string{"old_total"}}, []string{"old_total"}, nil, 0, 0},
		{"disabled", Options{Disabled: []string{"fresh_total", "plain_total", "none_total"}}, []string{"codes_total"}, []string{"fresh_total", "plain_total"}, 1, 1},
	} {
		r, text := show(t, c.o)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: there is no %q in\n%s", c.name, want, text)
			}
		}
		for _, no := range c.wantNot {
			if strings.Contains(text, no) {
				t.Errorf("%s: there is %q in\n%s", c.name, no, text)
			}
		}
		if got := valueOf(r.hidden); got != c.hidden {
			t.Errorf("%s: %v hidden metrics, want %v", c.name, got, c.hidden)
		}
		if got := valueOf(r.disabled); got != c.disabled {
			t.Errorf("%s: %v disabled metrics, want %v", c.name, got, c.disabled)
		}
	}
}

func TestRegistryBoundsLabels(t *testing.T) {
	r, text := show(t, Options{Allowed: map[Label][]string{{"codes_total", "code"}: {"200", "201"}, {"times", "name"}: {}}})
	for _, want := range []string{"codes_total  code 200 verb GET 1", "codes_total  code 201 verb GET 1", "codes_total  code unexpected verb GET 2", "times  name unexpected 0 4 6", "cardinality_enforcement_unexpected_categorizations_total  6"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "code 202") || strings.Contains(text, "n0") {
		t.Errorf("a value is shown that is not permitted:\n%s", text)
	}
	if _, err := r.Gather(); err != nil {
		t.Fatal(err)
	}
	if got := valueOf(r.unexpected); got != 6 {
		t.Errorf("%v series had an unexpected value, want 6", got)
	}
}

// TestReset checks that series with labels count from zero, also through references to them, and
// that gauges and metrics without labels keep their values.
func TestReset(t *testing.T) {
	r := New(Options{})
	fresh, _, plain, codes, times := counters()
	sizes := prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "sizes", Help: "[ALPHA] Sizes."}, []string{"name"})
	state := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "state", Help: "[ALPHA] State."}, []string{"name"})
	raw := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "raw_total", Help: "Of another library."}, []string{"name"})
	r.MustRegister(fresh, plain, codes, times, sizes, state, raw)
	held, idle, duration := codes.WithLabelValues("200", "GET"), codes.WithLabelValues("201", "GET"), times.WithLabelValues("a")
	held.Add(3)
	idle.Inc()
	duration.Observe(0.5)
	sizes.WithLabelValues("a").Observe(7)
	fresh.Inc()
	raw.WithLabelValues("a").Add(5)
	state.WithLabelValues("a").Set(4)
	if err := r.Reset(); err != nil {
		t.Fatal(err)
	}
	held.Add(2)
	duration.Observe(1.5)
	duration.Observe(0.25)
	codes.DeleteLabelValues("201", "GET")
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	text := seriesText(families)
	for _, want := range []string{"codes_total  code 200 verb GET 2 0 0\n", "times  name a 0 2 1.75\n", "fresh_total  1 0 0\n", "raw_total  name a 5 0 0\n", "state  name a 0 0 0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	for _, no := range []string{"code 201", "sizes"} {
		if strings.Contains(text, no) {
			t.Errorf("there is %q in\n%s", no, text)
		}
	}
	for _, f := range families {
		if f.GetName() == "times" {
			if b := f.Metric[0].Histogram.Bucket; b[0].GetCumulativeCount() != 1 || b[1].GetCumulativeCount() != 2 {
				t.Errorf("buckets %v", b)
			}
		}
	}
	// A series that was deleted begins again below its former value.
	idle = codes.WithLabelValues("201", "GET")
	idle.Add(0.5)
	if families, err = r.Gather(); err != nil || !strings.Contains(seriesText(families), "code 201 verb GET 0.5") {
		t.Errorf("%v\n%s", err, seriesText(families))
	}
}

// TestSiblingFollowsTheSameRules checks metrics that are served apart from the others.
func TestSiblingFollowsTheSameRules(t *testing.T) {
	r := New(Options{Disabled: []string{"fresh_total"}})
	fresh, _, plain, _, _ := counters()
	s := r.Sibling()
	s.MustRegister(fresh, plain)
	families, err := s.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "plain_total" {
		t.Errorf("got %v, %v", families, err)
	}
	if got := valueOf(r.disabled); got != 1 {
		t.Errorf("%v disabled metrics, want 1", got)
	}
}

// TestParse checks that descriptions of this version of prometheus have the parsed form.
func TestParse(t *testing.T) {
	for help, want := range map[string]Description{
		"[STABLE] A \"quoted\"\nhelp.":                {"a_b", "STABLE", "", "c,x", true},
		"EXPERIMENTAL: [ALPHA] x":                     {"a_b", "ALPHA", "", "c,x", true},
		"[BETA] (Deprecated since 1.34.0) [OLD] rest": {"a_b", "BETA", "1.34.0", "c,x", true},
		"no mark": {"a_b", "", "", "c,x", false},
	} {
		got, err := parse(prometheus.NewDesc("a_b", help, []string{"x"}, prometheus.Labels{"c": "a\"}"}))
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", help, got, err, want)
		}
	}
}

func TestRegisterTwice(t *testing.T) {
	r := New(Options{})
	fresh, _, _, _, _ := counters()
	if err := r.Register(fresh); err != nil {
		t.Fatal(err)
	}
	if err := r.Register(fresh); err == nil {
		t.Error("the same collector was registered twice")
	}
}

func valueOf(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}
