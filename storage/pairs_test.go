package storage

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
)

var (
	_ labels.Labels = Pairs("")
	_ fields.Fields = Pairs("")
)

// TestPairs compares Pairs with the map that they were made of.
func TestPairs(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, 70_000), func(n int) string { return strings.Repeat("x", n) }))
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOfN(text, text, 0, 5).Draw(t, "map")
		p := PairsOf(m)
		for k, want := range m {
			if got, ok := p.Lookup(k); !ok || got != want || !p.Has(k) || p.Get(k) != want {
				t.Fatalf("%.20q: got %.20q, %t, want %.20q", k, got, ok, want)
			}
		}
		other := text.Draw(t, "other")
		want, has := m[other]
		if got, ok := p.Lookup(other); ok != has || got != want {
			t.Fatalf("%.20q: got %.20q, %t, want %.20q, %t", other, got, ok, want, has)
		}
	})
}

func BenchmarkPairs(b *testing.B) {
	p := PairsOf(map[string]string{"app": "web", "pod-template-hash": "6b463c4ec7", "tier": "front", "example.com/owner": "team-7", "version": "v12"})
	b.ReportAllocs()
	for b.Loop() {
		if p.Has("none") {
			b.Fatal("there is no such label")
		}
	}
}
