package description

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// TestRegenerations checks which changes of custom kinds count when the documents are requested.
func TestRegenerations(t *testing.T) {
	c, err := api.New(few()...)
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	d := newDocuments()
	var set metricset.Set
	d.regenerations = newRegenerations(&set)
	if err := set.Register(reg); err != nil {
		t.Fatal(err)
	}
	last := map[string]float64{}
	// check requests all documents, and compares what was counted since the last time.
	check := func(what string, want ...string) {
		t.Helper()
		version2(t, d, c, nil)
		if _, err := d.v3(c); err != nil {
			t.Fatal(err)
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			for _, m := range f.Metric {
				name := strings.TrimSuffix(strings.TrimPrefix(f.GetName(), "apiextensions_openapi_"), "_regeneration_count")
				for _, l := range m.Label {
					name += " " + l.GetValue()
				}
				if n := m.Counter.GetValue(); n != last[name] {
					got = append(got, fmt.Sprint(name, " ", n-last[name]))
					last[name] = n
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	change := func(remove, add []*api.Resource) {
		t.Helper()
		if err := c.Change(remove, add); err != nil {
			t.Fatal(err)
		}
	}
	check("no custom kinds")
	one, two := customKind(t, "a.example.com", 1, 1), customKind(t, "a.example.com", 2, 1)
	change(nil, []*api.Resource{one})
	check("the first", "v2 kinds1.a.example.com add 1", "v3 kinds1.a.example.com a.example.com add v1 1")
	change(nil, []*api.Resource{two})
	check("another", "v2 kinds2.a.example.com add 1", "v3 kinds2.a.example.com a.example.com add v1 1")
	check("nothing")
	wider := customKind(t, "a.example.com", 1, 2)
	change([]*api.Resource{one}, []*api.Resource{wider})
	check("a change", "v2 kinds1.a.example.com update 1", "v3 kinds1.a.example.com a.example.com update v1 1")
	change([]*api.Resource{two}, nil)
	check("one removed", "v2 kinds2.a.example.com remove 1", "v3 kinds2.a.example.com a.example.com remove v1 1")
	change([]*api.Resource{wider}, nil)
	check("all removed", "v2 kinds1.a.example.com remove 1", "v3 kinds1.a.example.com a.example.com remove v1 1")
}
