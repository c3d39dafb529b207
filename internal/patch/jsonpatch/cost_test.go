package jsonpatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	library "gopkg.in/evanphx/json-patch.v4"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func repeated(n int, op string) string { return strings.Repeat(op+",", n-1) + op }

// TestCost checks that a patch allocates a small multiple of its length, the length of the
// document and the size of its copies. Each case makes json-patch allocate gigabytes.
func TestCost(t *testing.T) {
	const levels = 500
	deep := strings.Repeat(`{"a":`, levels) + `"` + strings.Repeat("x", 100<<10) + `"` + strings.Repeat("}", levels)
	items := strings.Repeat("1,", 100000) + "1"
	for _, tt := range []struct{ name, doc, patch string }{
		{"a long path into what was added", `{"spec":{}}`,
			`[{"op":"add","path":"/spec/x","value":` + deep + `},{"op":"add","path":"/spec/x` + strings.Repeat("/a", levels-2) + `/b","value":1}]`},
		{"many long paths", `{"spec":` + deep + `}`, `[` + repeated(1000, `{"op":"add","path":"/spec`+strings.Repeat("/a", levels-2)+`/b","value":1}`) + `]`},
		{"insertions at the front of an array", `{"l":[` + items + `]}`, `[` + repeated(9000, `{"op":"add","path":"/l/0","value":1}`) + `]`},
		{"removals from the front of an array", `{"l":[` + items + `]}`, `[` + repeated(9000, `{"op":"remove","path":"/l/0"}`) + `]`},
		{"moves of a long value", `{"l":[` + items + `]}`, `[` + repeated(2000, `{"op":"move","from":"/l","path":"/m"},{"op":"move","from":"/m","path":"/l"}`) + `]`},
		{"tests of a long value against a short one", `{"l":[` + items + `],"m":[1]}`,
			`[{"op":"add","path":"/l/-","value":1},` + repeated(2000, `{"op":"test","path":"/m","value":[1]}`) + `,{"op":"test","path":"/l","value":[1]}]`},
		{"replacements of many names, then a fault", `{"l":{}}`, `[` + repeated(9000, `{"op":"replace","path":"/l/k","value":1}`) + `,{"op":"remove","path":"/no"}]`},
	} {
		p, err := Decode([]byte(tt.patch))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got := allocated(func() { _, err = p.Apply(t.Context(), []byte(tt.doc), 3<<20) })
		if most := uint64(40*(len(tt.doc)+len(tt.patch)) + 1<<20); got > most {
			t.Errorf("%s (%v): %d bytes are allocated for a patch of %d and a document of %d", tt.name, err, got, len(tt.patch), len(tt.doc))
		}
	}
}

// TestEnds checks that a patch ends with its context, and that the size of its copies is
// limited.
func TestEnds(t *testing.T) {
	p, err := Decode([]byte(`[{"op":"add","path":"/a","value":1}]`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Apply(ctx, []byte(`{}`), 1); err != context.Canceled {
		t.Errorf("a patch goes on when its request has ended: %v", err)
	}
	many, err := Decode([]byte(`[{"op":"add","path":"/a","value":"` + strings.Repeat("x", 1<<20) + `"}` + strings.Repeat(`,{"op":"copy","from":"/a","path":"/b"}`, 20) + `]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := many.Apply(t.Context(), []byte(`{}`), 3<<20); err == nil || !strings.Contains(err.Error(), "accumulated size increase") {
		t.Error(err)
	}
}

// TestList compares a list with a slice.
func TestList(t *testing.T) {
	var l list
	var want []*node
	random := uint32(1)
	for range 20000 {
		random = random*1664525 + 1013904223
		n := &node{}
		switch at := int(random>>8) % (len(want) + 1); {
		case random%5 < 3:
			l.insert(at, n)
			want = append(want[:at:at], append([]*node{n}, want[at:]...)...)
		case at == len(want):
		case random%5 == 3:
			l.set(at, n)
			want[at] = n
		default:
			l.remove(at)
			want = append(want[:at:at], want[at+1:]...)
		}
	}
	var got []*node
	l.each(func(n *node) bool { got = append(got, n); return true })
	if l.length != len(want) || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d items, want %d", l.length, len(want))
	}
	for i, n := range want {
		if l.get(i) != n {
			t.Fatalf("item %d is another", i)
		}
	}
}

// byLibrary applies a patch with json-patch, and returns false if that panics, which it
// does for missing values.
func byLibrary(doc, patch []byte) (out []byte, err error, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	p, err := library.DecodePatch(patch)
	if err != nil {
		return nil, err, true
	}
	out, err = p.Apply(doc)
	return out, err, true
}

// FuzzApply compares results and messages with those of json-patch, which has no bounds.
func FuzzApply(f *testing.F) {
	const doc = `{"a":{"b":[1,null,{"c":"x"}],"~/":true},"n":null,"s":"t"}`
	for _, patch := range []string{
		`[{"op":"add","path":"/a/b/1","value":{"x":null}},{"op":"test","path":"/a/b/1","value":{"x":null}}]`,
		`[{"op":"copy","from":"/a/b","path":"/a/d"},{"op":"add","path":"/a/d/-","value":[[]]},{"op":"test","path":"/a/d","value":[1,null,{"c":"x"},[[]]]}]`,
		`[{"op":"move","from":"/a/b/-1","path":"/a/~0~1"},{"op":"replace","path":"/a/b/-2","value":3}]`,
		`[{"op":"replace","path":"","value":[1,2]},{"op":"remove","path":"/0"},{"op":"add","path":"/-1","value":9}]`,
		`[{"op":"test","path":"/n"},{"op":"test","path":"/n","value":null},{"op":"add","path":"/n","value":null},{"op":"test","path":"/n","value":null}]`,
		`[{"op":"test","path":"","value":{"s":"t"}}]`,
		`[{"op":"remove","path":"/a/b/x"}]`,
		`[{"op":"add","path":"/a/b/9","value":1}]`,
		`[{"op":"add","path":"/s/x","value":1}]`,
		`[{"op":"replace","path":"/new","value":1},{"op":"replace","path":"/a/b/9","value":1}]`,
		`[null]`, `[{"op":1,"path":"/a"}]`, `{}`, `[1]`,
	} {
		f.Add([]byte(doc), []byte(patch))
	}
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		if doc = bytes.TrimSpace(doc); len(doc) == 0 || doc[0] != '{' && doc[0] != '[' {
			return
		}
		want, wrong, ok := byLibrary(doc, patch)
		p, err := Decode(patch)
		var got []byte
		if err == nil {
			got, err = p.Apply(t.Context(), doc, math.MaxInt64)
		}
		var limit *bounds.Error
		switch {
		case !ok, errors.As(err, &limit):
		case (err == nil) != (wrong == nil):
			t.Errorf("%s of %s: %s %v, want %s %v", patch, doc, got, err, want, wrong)
		case err == nil && !reflect.DeepEqual(values(t, got), values(t, want)):
			t.Errorf("%s of %s: %s, want %s", patch, doc, got, want)
		case err != nil && err.Error() != wrong.Error() && json.Valid(doc):
			t.Errorf("%s of %s: %v, want %v", patch, doc, err, wrong)
		}
	})
}

func values(t *testing.T, data []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return fmt.Sprint(err)
	}
	return v
}

// BenchmarkApply compares Apply with the library that kube-apiserver uses.
func BenchmarkApply(b *testing.B) {
	pods := func(n int) string {
		return `{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[` + repeated(n, `{"name":"c","image":"i","env":[{"name":"A","value":"1"}]}`) + `]}}`
	}
	for _, tt := range []struct{ name, doc, patch string }{
		{"label", pods(2), `[{"op":"add","path":"/metadata/labels/c","value":"d"},{"op":"replace","path":"/spec/containers/0/image","value":"j"}]`},
		{"100 images", pods(100), `[` + repeated(100, `{"op":"replace","path":"/spec/containers/50/image","value":"j"}`) + `]`},
		{"1000 insertions", pods(1000), `[` + repeated(1000, `{"op":"add","path":"/spec/containers/0","value":{"name":"x"}}`) + `]`},
	} {
		doc, patch := []byte(tt.doc), []byte(tt.patch)
		b.Run(tt.name+"/own", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := Decode(patch)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Apply(b.Context(), doc, 3<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(tt.name+"/library", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := library.DecodePatch(patch)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Apply(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
