package custom

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestOutline(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: `{}`,
		`{"a":{"openAPIV3Schema":{"x":1}},"b":2}`:                                      `{"a":{"openAPIV3Schema":{"id":"0"}},"b":2}`,
		`[{"openAPIV3Schema":{}},{"openAPIV3Schema":{"y":{}}},{"openAPIV3Schema":{}}]`: `[{"openAPIV3Schema":{"id":"0"}},{"openAPIV3Schema":{"id":"1"}},{"openAPIV3Schema":{"id":"0"}}]`,
		// The inside of a schema may look like the start of a schema, or like its end.
		`{"openAPIV3Schema":{"properties":{"openAPIV3Schema":{"type":"object"}},"description":"} \" }\\"},"c":"}"}`: `{"openAPIV3Schema":{"id":"0"},"c":"}"}`,
		`{"a":"\"openAPIV3Schema\":{","openAPIV3Schema":null}`:                                                      `{"a":"\"openAPIV3Schema\":{","openAPIV3Schema":null}`,
	} {
		if got := string(Outline([]byte(in))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestSpec(t *testing.T) {
	for definition, want := range map[string]string{
		`{"kind":"X","metadata":{"spec":{"a":1},"annotations":{"x":"\"spec\":{"}},"spec":{"a":{"b":"}"}},"status":{"spec":{}}}`: `{"a":{"b":"}"}}`,
		`{"list":[{"spec":{"a":1}}],"spec":{}}`: `{}`,
		`{"metadata":{"spec":{"a":1}}}`:         `{"metadata":{"spec":{"a":1}}}`,
		`{"spec":{"a"`:                          `{"a"`,
		`{"\`:                                   `{"\`,
		``:                                      ``,
	} {
		if got := string(Spec([]byte(definition))); got != want {
			t.Errorf("spec of %s is %s, want %s", definition, got, want)
		}
	}
}

// FuzzOutline checks that the outline of JSON is JSON, and is not longer than the definition
// if its schemas are longer than an id.
func FuzzOutline(f *testing.F) {
	f.Add([]byte(`{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"type":"object","description":"\\\"}{"}}}]}}`))
	f.Add([]byte(`{"openAPIV3Schema":{"a":`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := Outline(text)
		if json.Valid(text) && !json.Valid(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// storedDefinition returns a stored definition of ordinary size.
func storedDefinition(tb testing.TB, n int) []byte {
	tb.Helper()
	data, err := os.ReadFile("testdata/openapi.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var d Definition
	if err := yaml.Unmarshal(data, &d); err != nil {
		tb.Fatal(err)
	}
	for i := range d.Spec.Versions {
		for f := range 60 {
			d.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties[fmt.Sprintf("field%d", f)] = props{Type: "string", Description: strings.Repeat("What it is for. ", 10)}
		}
	}
	d.Name, d.Status.AcceptedNames = fmt.Sprintf("%s%d", d.Name, n), d.Spec.Names
	out, err := json.Marshal(&d)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func compileStored(tb testing.TB, value []byte) *Kind {
	tb.Helper()
	read := func(text []byte) (*Definition, error) {
		d := &Definition{}
		return d, json.Unmarshal(text, d)
	}
	d, err := read(Outline(value))
	if err != nil {
		tb.Fatal(err)
	}
	k, err := Compile(d, func() (*Definition, error) { return read(value) }, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// TestAlikeSchemas checks that versions with equal schemas share the compiled schema, also if
// they were compiled from an outline.
func TestAlikeSchemas(t *testing.T) {
	version := func(name, field string) string {
		return `{"name":"` + name + `","served":true,"storage":` + fmt.Sprint(name == "v1") + `,"schema":{"openAPIV3Schema":{"type":"object","properties":{"` + field + `":{"type":"string"}}}}}`
	}
	k := compileStored(t, []byte(`{"metadata":{"name":"x.g"},"spec":{"group":"g","names":{"plural":"x","kind":"X"},"versions":[`+
		version("v1", "a")+`,`+version("v2", "b")+`,`+version("v3", "a")+`]},"status":{"acceptedNames":{"plural":"x","kind":"X"}}}`))
	of := func(version string) any {
		for gv, s := range k.Schemas {
			if gv.Version == version {
				return s
			}
		}
		return nil
	}
	if of("v1") != of("v3") || of("v1") == of("v2") {
		t.Error("not those that are alike are shared")
	}
	for version, unknown := range map[string]string{"v1": "b", "v2": "a", "v3": "b"} {
		content := map[string]any{"a": "1", "b": "2"}
		for gv, s := range k.Schemas {
			if gv.Version == version {
				s.Prune(content)
			}
		}
		if _, ok := content[unknown]; ok || len(content) != 1 {
			t.Errorf("%s left %v", version, content)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	value := storedDefinition(b, 0)
	b.Run("idle", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			compileStored(b, value)
		}
	})
	b.Run("used", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, s := range compileStored(b, value).Schemas {
				s.Prune(map[string]any{})
			}
		}
	})
}

// BenchmarkIdleKind measures the memory of an unused kind, besides the stored definition.
func BenchmarkIdleKind(b *testing.B) {
	value := storedDefinition(b, 0)
	kinds := make([]*Kind, 0, 1000)
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var total uint64
	for b.Loop() {
		clear(kinds)
		kinds = kinds[:0]
		before := held()
		for range cap(kinds) {
			kinds = append(kinds, compileStored(b, value))
		}
		total = held() - before
	}
	runtime.KeepAlive(kinds)
	b.ReportMetric(float64(total)/float64(cap(kinds)), "B/kind")
	b.ReportMetric(float64(len(value)), "B/definition")
}
