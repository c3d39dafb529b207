package main

import (
	"math"
	"testing"
	"time"
)

// samplesOf returns a sample each minute with the values of one quantity.
func samplesOf(n int, value func(i int) float64) []sample {
	var samples []sample
	for i := range n {
		samples = append(samples, sample{at: time.Duration(i) * time.Minute, values: []float64{value(i)}})
	}
	return samples
}

// TestTrend checks that noise and a single step are no growth, and that a leak is.
func TestTrend(t *testing.T) {
	noise := func(i int) float64 { return 10 * math.Sin(float64(i*i)) }
	for name, c := range map[string]struct {
		value   func(i int) float64
		perHour float64
		grew    bool
	}{
		"constant": {func(int) float64 { return 100 }, 0, false},
		"nothing":  {func(int) float64 { return 0 }, 0, false},
		"noise":    {func(i int) float64 { return 100 + noise(i) }, 0, false},
		"leak":     {func(i int) float64 { return 100 + 2*float64(i) }, 120, true},
		"noisy":    {func(i int) float64 { return 100 + 2*float64(i) + noise(i) }, 120, true},
		"shrinks":  {func(i int) float64 { return 300 - 2*float64(i) }, -120, false},
	} {
		got := trendOf(samplesOf(40, c.value), 0)
		if got.grew(0.1) != c.grew || math.Abs(got.perHour-c.perHour) > 15 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFileOfEtcd checks that the file of etcd may grow in steps up to a multiple of its largest
// content, and no further.
func TestFileOfEtcd(t *testing.T) {
	const file, content = 4, 5
	if quantities[file].name != "etcd MB" || quantities[file].of != content || quantities[content].name != "used MB" {
		t.Fatal("other quantities")
	}
	samples := func(size func(i int) float64) []sample {
		var out []sample
		for i := range 40 {
			s := sample{at: time.Duration(i) * time.Minute, values: make([]float64, len(quantities))}
			s.values[file], s.values[content] = size(i), 20+float64(i%3)
			out = append(out, s)
		}
		return out
	}
	// As measured: the content stays, and the file has grown by a fifth at some time.
	if hasGrown(samples(func(i int) float64 { return 21.4 + 4.3*float64(i/30) }), file) {
		t.Error("a step is growth")
	}
	if !hasGrown(samples(func(i int) float64 { return 20 + float64(i) }), file) {
		t.Error("free space that is never used again is no growth")
	}
}

// TestTemplates checks that there is an object of nearly every kind.
func TestTemplates(t *testing.T) {
	list, err := readTemplates("../../conformance/snapshot/testdata/lists.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 45 {
		t.Errorf("%d kinds", len(list))
	}
	for _, o := range list {
		if o.object["apiVersion"] == "" || o.object["kind"] == "" || o.object["metadata"].(object)["name"] != nil {
			t.Errorf("%s: %v", o.collection, o.object)
		}
	}
}
