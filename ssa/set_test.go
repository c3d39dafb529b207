package ssa

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// twin is a Set and the equal set of structured-merge-diff.
type twin struct {
	s Set
	f *fieldpath.Set
}

func parseTwin(t rapidT, text string) twin {
	t.Helper()
	s, exact, err := parseSet(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if again := string(s.appendJSON(nil)); exact && again != text {
		t.Fatalf("%s: said to be exact, but is\n%s", text, again)
	}
	f := &fieldpath.Set{}
	if err := f.FromJSON(strings.NewReader(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return twin{s, f}
}

func (a twin) check(t rapidT, what string) {
	t.Helper()
	want, err := a.f.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got := a.s.appendJSON(nil); !bytes.Equal(got, want) {
		t.Fatalf("%s: %s, should be %s", what, got, want)
	}
}

var elementNames = []string{
	"f:a", "f:b", "f:c d", `f:<&>`, `f:é`, `f:`, `k:{\"a\":1}`, `k:{\"a\":10}`, `k:{\"a\":9}`, `k:{\"a\":\"9\"}`, `k:{\"a\":1,\"b\":\"x\"}`,
	`k:{\"b\":\"x\"}`, `k:{\"a\":true}`, `k:{\"a\":null}`, `k:{\"a\":1.5}`, `k:{\"a\":\"é\"}`, `v:1`, `v:10`, `v:9`, `v:\"a\"`, `v:true`, `v:null`, `v:-1`, `i:0`, `i:10`, `i:9`,
}

// drawSet draws the text of a set.
func drawSet(t *rapid.T, depth int) string {
	var parts []string
	if rapid.Bool().Draw(t, "self") && depth > 0 {
		parts = append(parts, `".":{}`)
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(elementNames), 0, 5, rapid.ID[string]).Draw(t, "names") {
		below := "{}"
		if depth < 3 {
			below = drawSet(t, depth+1)
		}
		parts = append(parts, `"`+name+`":`+below)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestSetAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := parseTwin(t, drawSet(t, 0)), parseTwin(t, drawSet(t, 0))
		a.check(t, "a")
		b.check(t, "b")
		twin{union(a.s, b.s), a.f.Union(b.f)}.check(t, "union")
		twin{intersect(a.s, b.s, member), a.f.Intersection(b.f)}.check(t, "intersection")
		rest, _ := minus(a.s, b.s)
		twin{rest, a.f.Difference(b.f)}.check(t, "difference")
		rest, _ = minusTrees(a.s, b.s)
		twin{rest, a.f.RecursiveDifference(b.f)}.check(t, "recursive difference")
		var mine, toLibrary []string
		a.s.each(nil, func(path []element) { mine = append(mine, pathString(path)) })
		a.f.Iterate(func(p fieldpath.Path) { toLibrary = append(toLibrary, p.String()) })
		if strings.Join(mine, "\n") != strings.Join(toLibrary, "\n") {
			t.Fatalf("paths\n%s\nshould be\n%s", strings.Join(mine, "\n"), strings.Join(toLibrary, "\n"))
		}
	})
}

func FuzzParseSet(f *testing.F) {
	for _, text := range clientFields {
		f.Add(text)
	}
	for _, name := range elementNames {
		f.Add(`{"` + name + `":{"` + name + `":{},".":{}},"f:x":{}}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, exact, err := parseSet(text)
		if err != nil {
			return
		}
		once := string(s.appendJSON(nil))
		if exact && once != text {
			t.Errorf("%q: said to be exact, but is %q", text, once)
		}
		again, exact, err := parseSet(once)
		if err != nil || !exact {
			t.Fatalf("%q: gives %q, exact %v: %v", text, once, exact, err)
		}
		if twice := string(again.appendJSON(nil)); twice != once {
			t.Errorf("%q: gives %q, and that %q", text, once, twice)
		}
	})
}
