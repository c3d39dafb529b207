package kindtest

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestEdited(t *testing.T) {
	example, err := parseObject("a: 1\nlist: [{name: v}, {name: w}]\nlabels: {a.b/c: d}")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(example)
	for edits, want := range map[string]string{
		"":                         `{"a":1,"labels":{"a.b/c":"d"},"list":[{"name":"v"},{"name":"w"}]}`,
		"a: null; labels: {}":      `{"labels":{},"list":[{"name":"v"},{"name":"w"}]}`,
		"labels[a.b/c]: e":         `{"a":1,"labels":{"a.b/c":"e"},"list":[{"name":"v"},{"name":"w"}]}`,
		"list[1].name: z":          `{"a":1,"labels":{"a.b/c":"d"},"list":[{"name":"v"},{"name":"z"}]}`,
		"list[2].name: z":          `{"a":1,"labels":{"a.b/c":"d"},"list":[{"name":"v"},{"name":"w"},{"name":"z"}]}`,
		"list[0]: null":            `{"a":1,"labels":{"a.b/c":"d"},"list":[{"name":"w"}]}`,
		`a: "1; b: 2"; list: null`: `{"a":"1; b: 2","labels":{"a.b/c":"d"}}`,
		"a: 9007199254740993":      `{"a":9007199254740993,"labels":{"a.b/c":"d"},"list":[{"name":"v"},{"name":"w"}]}`,
		"b.c.d: {e: f}; list: []":  `{"a":1,"b":{"c":{"d":{"e":"f"}}},"labels":{"a.b/c":"d"},"list":[]}`,
	} {
		out, err := edited(example, edits)
		got, _ := json.Marshal(out)
		if err != nil || string(got) != want {
			t.Errorf("%s: got  %s, %v\nwant %s", edits, got, err, want)
		}
	}
	if after, _ := json.Marshal(example); string(after) != string(before) {
		t.Errorf("edits changed the example to %s", after)
	}
	for _, edits := range []string{"a", "a.b: 1", "list[3]: 1", "list[0: 1", "a: {"} {
		if out, err := edited(example, edits); err == nil {
			t.Errorf("%s: no error, but %v", edits, out)
		}
	}
}

// recorder records the failures of a test.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, _ ...any) { r.failures = append(r.failures, format) }
func (r *recorder) Fatal(args ...any)              { panic(args) }
func (r *recorder) Fatalf(format string, _ ...any) { panic(format) }

// TestWrongRows checks that wrong rows of a table fail.
func TestWrongRows(t *testing.T) {
	const configMap = "data: {a: b}"
	const badKey = `data[a b]: Invalid value: "a b": a valid config key must consist of ` +
		`alphanumeric characters, '-', '_' or '.' (e.g. 'key.name', ` +
		` or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`
	for name, c := range map[string]struct {
		test func(k *Kind)
		want int
	}{
		"right":         {func(k *Kind) { k.Create(Rules{{"key", "data.c: d", "data[a b]: c", badKey}}) }, 0},
		"does not hold": {func(k *Kind) { k.Create(Rules{{"key", "data[a b]: d", "data[a b]: c", badKey}}) }, 1},
		"does not fail": {func(k *Kind) { k.Create(Rules{{"key", "", "data.c: d", ""}}) }, 1},
		"any text":      {func(k *Kind) { k.Create(Rules{{"key", "", "data[a b]: c", "data[a b]...+')"}}) }, 0},
		"other start":   {func(k *Kind) { k.Create(Rules{{"key", "", "data[a b]: c", "data[a c]...+')"}}) }, 1},
		"other error":   {func(k *Kind) { k.Create(Rules{{"key", "", "data[a b]: c", "data: Required value"}}) }, 1},
		"update": {func(k *Kind) {
			k.With("immutable: true").Update(Rules{{"data", "metadata.labels: {a: b}", "data.a: c",
				"data: Forbidden: field is immutable when `immutable` is set"}})
		}, 0},
		"field":              {func(k *Kind) { k.Created(Cases{{"data", "data.c: d", "data.a: b; data.c: d"}}) }, 0},
		"wrong field":        {func(k *Kind) { k.Created(Cases{{"data", "data.c: d", "data.a: c"}}) }, 1},
		"cells":              {func(k *Kind) { k.Columns("Name|Data|Age", Cases{{"one", "", "x|1|60m"}}) }, 0},
		"wrong columns":      {func(k *Kind) { k.Columns("Name|Age", Cases{{"one", "", "x|1|60m"}}) }, 1},
		"wrong cells":        {func(k *Kind) { k.Columns("Name|Data|Age", Cases{{"two", "", "x|2|60m"}}) }, 1},
		"wrong warning":      {func(k *Kind) { k.Warnings(Cases{{"any", "", "beware"}}) }, 1},
		"wrong generation":   {func(k *Kind) { k.Generations(Cases{{"data", "data: {}", "2"}}) }, 1},
		"wrong field labels": {func(k *Kind) { k.Selectable(Cases{{"any", "", "a=b"}}) }, 1},
	} {
		r := &recorder{TB: t}
		c.test(New(r, "configmaps.v1", configMap))
		if len(r.failures) != c.want {
			t.Errorf("%s: %d failures, want %d: %q", name, len(r.failures), c.want, slices.Compact(r.failures))
		}
	}
}
