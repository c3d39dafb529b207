package lab

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// describeChanges returns changes as lines "PATH: BEFORE -> AFTER".
func describeChanges(changes []v1alpha1.FieldChange) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s: %s -> %s", c.Path, c.Before, c.After))
	}
	return strings.Join(lines, "\n")
}

// fieldChangesJSON is fieldChanges for two JSON objects; an empty text means that there is no object.
func fieldChangesJSON(before, after []byte, confidential []string) ([]v1alpha1.FieldChange, error) {
	var docs [2]map[string]any
	for i, text := range [][]byte{before, after} {
		if len(text) == 0 {
			continue
		}
		var err error
		if docs[i], err = quickjson.Read(text); err != nil {
			return nil, err
		}
	}
	return fieldChanges(docs[0], docs[1], confidential), nil
}

func TestFieldChanges(t *testing.T) {
	secret := []string{"data", "stringData", "metadata.annotations"}
	for _, c := range []struct {
		name, before, after string
		confidential        []string
		want                string
	}{
		{"nothing", `{"a":1,"b":[{"name":"x"}]}`, `{"b":[{"name":"x"}],"a":1}`, nil, ""},
		{"numbers", `{"a":1,"b":9007199254740993,"c":1.5}`, `{"a":1.0,"b":9007199254740992,"c":2.5}`, nil,
			"b: 9007199254740993 -> 9007199254740992\nc: 1.5 -> 2.5"},
		{"null, missing and empty are different", `{"a":null,"b":{},"c":[],"d":null,"e":{},"f":"null"}`,
			`{"b":null,"c":{},"d":null,"e":{},"f":null}`, nil,
			"a: null -> \nb: {} -> null\nc: [] -> {}\nf: \"null\" -> null"},
		{"paths", `{"metadata":{"labels":{"app.kubernetes.io/name":"a","plain":"1","9":"2","":"3"}}}`, `{"metadata":{"labels":{}}}`, nil,
			`metadata.labels: {"":"3","9":"2","app.kubernetes.io/name":"a","plain":"1"} -> {}`},
		{"quoted names", `{"m":{"a/b":1,"x-y":1,"":1,"9":1,"é\"":1}}`, `{"m":{"a/b":2,"x-y":2,"":2,"9":2,"é\"":2}}`, nil,
			"m[\"\"]: 1 -> 2\nm[\"9\"]: 1 -> 2\nm[\"a/b\"]: 1 -> 2\nm.x-y: 1 -> 2\nm[\"é\\\"\"]: 1 -> 2"},
		{"elements by name", `{"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}}`,
			`{"spec":{"containers":[{"name":"c"},{"name":"b","image":"2"}]}}`, nil,
			`spec.containers[0]:  -> {"name":"c"}` + "\n" + `spec.containers[1].image: "1" -> "2"` + "\n" +
				`spec.containers[0]: {"image":"1","name":"a"} -> `},
		{"other order", `{"l":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, `{"l":[{"name":"b"},{"name":"a"},{"name":"d"}]}`, nil,
			`l: ["a","b"] -> ["b","a"]` + "\n" + `l[2]:  -> {"name":"d"}` + "\n" + `l[2]: {"name":"c"} -> `},
		{"ports", `{"ports":[{"containerPort":80},{"containerPort":81}]}`, `{"ports":[{"containerPort":81,"protocol":"TCP"}]}`, nil,
			`ports[0].protocol:  -> "TCP"` + "\n" + `ports[0]: {"containerPort":80} -> `},
		{"a name twice", `{"l":[{"name":"a","v":1},{"name":"a","v":2}]}`, `{"l":[{"name":"a","v":1},{"name":"a","v":3}]}`, nil, "l[1].v: 2 -> 3"},
		{"by position", `{"l":[{"v":1},{"w":2}]}`, `{"l":[{"v":1},{"w":3},[4]]}`, nil, "l[1].w: 2 -> 3\nl[2]:  -> [4]"},
		{"finalizers", `{"metadata":{"finalizers":["a","b"]}}`, `{"metadata":{"finalizers":["b"]}}`, nil,
			`metadata.finalizers: ["a","b"] -> ["b"]`},
		{"a list and an object", `{"a":[1],"b":{"#0":"1"}}`, `{"a":{"#0":"1"},"b":["1"]}`, nil,
			`a: [1] -> {"#0":"1"}` + "\n" + `b: {"#0":"1"} -> ["1"]`},
		{"bookkeeping", `{"metadata":{"resourceVersion":"1","managedFields":[1],"generation":1}}`,
			`{"metadata":{"resourceVersion":"2","managedFields":[2],"generation":2}}`, nil, "metadata.generation: 1 -> 2"},
		{"not escaped", `{"a":"<&>"}`, `{"a":"\u0000\""}`, nil, `a: "<&>" -> "\u0000\""`},
		{"created", "", `{"kind":"X","metadata":{"name":"x","labels":{"a":"b"}},"spec":{"l":[{"name":"a"}]},"status":{}}`, nil,
			"kind:  -> \"X\"\nmetadata.labels:  -> {\"a\":\"b\"}\nmetadata.name:  -> \"x\"\nspec.l:  -> [{\"name\":\"a\"}]\nstatus:  -> {}"},
		{"deleted", `{"spec":{"replicas":1}}`, "", nil, "spec.replicas: 1 -> "},
		{"no object", "", "", nil, ""},
		{"secret", `{"type":"a","data":{"k":"djE=","same":"eA=="},"metadata":{"annotations":{"x":"y"},"labels":{"l":"1"}}}`,
			`{"type":"b","data":{"k":"djI=","new":"eA==","same":"eA=="},"metadata":{"annotations":{"x":"z"},"labels":{"l":"2"}}}`, secret,
			"data.k: (not kept) -> (not kept)\ndata.new:  -> (not kept)\nmetadata.annotations.x: (not kept) -> (not kept)\n" +
				"metadata.labels.l: \"1\" -> \"2\"\ntype: \"a\" -> \"b\""},
		{"created secret", "", `{"data":{"k":"djE="},"stringData":{"s":"t"},"metadata":{"name":"n","annotations":{"x":"y"}}}`, secret,
			"data.k:  -> (not kept)\nmetadata.annotations.x:  -> (not kept)\nmetadata.name:  -> \"n\"\nstringData.s:  -> (not kept)"},
		{"data of a secret of another type", `{"data":"old","metadata":"older"}`,
			`{"data":["new"],"metadata":{"annotations":"a"},"stringData":{}}`, secret,
			"data: (not kept) -> (not kept)\nmetadata: (not kept) -> (not kept)\nstringData:  -> (not kept)"},
		{"removed data", `{"data":{"k":"v"}}`, `{"data":{}}`, secret, "data.k: (not kept) -> "},
		{"metadata of a secret appears", `{}`, `{"metadata":{"annotations":{"x":"y"},"name":"n"}}`, secret,
			"metadata.annotations.x:  -> (not kept)\nmetadata.name:  -> \"n\""},
		{"a token in a list", `{"l":[{"name":"a","token":"x"}]}`, `{"l":[{"name":"b","token":"y"}]}`, []string{"l.token"},
			"l[0].name:  -> \"b\"\nl[0].token:  -> (not kept)\nl[0].name: \"a\" -> \nl[0].token: (not kept) -> "},
	} {
		changes, err := fieldChangesJSON([]byte(c.before), []byte(c.after), c.confidential)
		if got := describeChanges(changes); got != c.want || err != nil {
			t.Errorf("%s: %v\ngot:\n%s\nwant:\n%s", c.name, err, got, c.want)
		}
	}
}

// TestValuesAreBounded checks the length of values and the number of changes.
func TestValuesAreBounded(t *testing.T) {
	long := strings.Repeat("é", 2000)
	got := fieldChanges(map[string]any{"a": "x"}, map[string]any{"a": long}, nil)
	if n := len(got[0].After); n > maxValueText || n < maxValueText-4 || !strings.HasSuffix(got[0].After, "é…") {
		t.Errorf("a value of %d bytes: %s", n, got[0].After)
	}
	before, after := map[string]any{}, map[string]any{}
	for i := range 2000 {
		before[fmt.Sprint("f", i)], after[fmt.Sprint("f", i)] = int64(1), int64(2)
	}
	got = fieldChanges(before, after, nil)
	if len(got) != maxFieldChanges+1 || got[maxFieldChanges].Path != "… and 1500 more" {
		t.Errorf("%d changes, the last %+v", len(got), got[len(got)-1])
	}
	list := func(from int) map[string]any { // strings that are too long together to be shown as one list
		var l []any
		for i := range 2000 {
			l = append(l, fmt.Sprint("element ", from+i))
		}
		return map[string]any{"l": l}
	}
	if got := describeChanges(fieldChanges(list(0), list(1), nil)); got != "l[1999]:  -> \"element 2000\"\nl[0]: \"element 0\" -> " {
		t.Errorf("long lists of strings: %s", got)
	}
}

// manyContainers returns a list with n elements, beginning with the from-th, in the order that perm has.
func manyContainers(n, from int, byName bool, order []int) map[string]any {
	list := make([]any, n)
	for i, k := range order {
		e := map[string]any{"image": fmt.Sprint("image", k+from), "n": int64(k)}
		if byName {
			e["name"] = fmt.Sprint("c", k+from/2)
		}
		list[i] = e
	}
	return map[string]any{"spec": map[string]any{"l": list}}
}

// TestWorkIsProportional checks that the work for lists grows as their length does, however their elements are found.
func TestWorkIsProportional(t *testing.T) {
	steps := func(n int, byName bool) int {
		r := rand.New(rand.NewPCG(1, 2))
		d := newDiffer(nil)
		before, after := manyContainers(n, 0, byName, r.Perm(n)), manyContainers(n, n/2, byName, r.Perm(n))
		d.compare(before, after)
		if len(d.changes)+d.omitted < n/2 {
			t.Errorf("%d changes of %d elements", len(d.changes)+d.omitted, n)
		}
		return d.steps
	}
	for _, byName := range []bool{true, false} {
		few, many := steps(500, byName), steps(4000, byName)
		if ratio := float64(many) / float64(few); ratio < 7 || ratio > 9 {
			t.Errorf("by name %v: %d steps for 500 elements, %d for 4000", byName, few, many)
		}
	}
	small, large := allocations(200), allocations(1600)
	if ratio := large / small; ratio > 10 {
		t.Errorf("%v allocations for 200 elements, %v for 1600", small, large)
	}
}

func allocations(n int) float64 {
	r := rand.New(rand.NewPCG(1, 2))
	before, after := manyContainers(n, 0, true, r.Perm(n)), manyContainers(n, n/2, true, r.Perm(n))
	return testing.AllocsPerRun(3, func() { fieldChanges(before, after, nil) })
}

// jsonValue draws decoded JSON in which names and scalars are often the same.
func jsonValue(t *rapid.T, depth int) any {
	kinds := []string{"null", "bool", "int", "string", "object", "list", "named list"}
	if depth == 0 {
		kinds = kinds[:4]
	}
	names := rapid.SampledFrom([]string{"a", "b", "name", "key", "order", "metadata", "data"})
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "int":
		return rapid.Int64Range(0, 2).Draw(t, "int")
	case "string":
		return rapid.SampledFrom([]string{"", "null", "x", "[]", "(secret)"}).Draw(t, "string")
	case "object":
		out := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "fields") {
			out[names.Draw(t, "name")] = jsonValue(t, depth-1)
		}
		return out
	case "list":
		out := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			out = append(out, jsonValue(t, depth-1))
		}
		return out
	case "named list":
		out := []any{}
		for i := range rapid.IntRange(0, 4).Draw(t, "elements") {
			out = append(out, map[string]any{"name": fmt.Sprint(i), "v": jsonValue(t, depth-1)})
		}
		rapid.Permutation(out)
		return out
	}
	return nil
}

// TestChangesIffDifferent checks with random documents that there are changes if and only if the documents differ, that the function
// changes neither, and that no confidential value is shown.
func TestChangesIffDifferent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() map[string]any {
			out := map[string]any{}
			for _, name := range []string{"a", "b", "data", "spec"} {
				if rapid.Bool().Draw(t, "exists") {
					out[name] = jsonValue(t, 4)
				}
			}
			return out
		}
		before := draw()
		after := draw()
		if rapid.Bool().Draw(t, "similar") {
			after["spec"] = before["spec"]
		}
		b, a := compactJSON(before), compactJSON(after)
		changes := fieldChanges(before, after, nil)
		if compactJSON(before) != b || compactJSON(after) != a {
			t.Fatal("the documents were changed")
		}
		if (len(changes) == 0) != (b == a) {
			t.Fatalf("%s -> %s: %s", b, a, describeChanges(changes))
		}
		for _, c := range changes {
			if c.Before == c.After {
				t.Fatalf("a change without a difference: %+v", c)
			}
		}
		for _, c := range fieldChanges(hideIn(before), hideIn(after), []string{"data", "spec.name", "a.b.data"}) {
			if strings.Contains(c.Before+c.After, "hidden value") {
				t.Fatalf("shows a confidential value: %+v", c)
			}
		}
		if text := compactJSON(redacted(hideIn(before), []string{"data", "spec.name", "a.b.data"})); strings.Contains(text, "hidden value") {
			t.Fatalf("not redacted: %s", text)
		}
	})
}

// hideIn returns a copy of a document with a hidden value in its confidential fields.
func hideIn(doc map[string]any) map[string]any {
	var out map[string]any
	if err := json.Unmarshal([]byte(compactJSON(doc)), &out); err != nil {
		panic(err)
	}
	out["data"] = map[string]any{"k": "hidden value", "l": []any{"hidden value", map[string]any{"m": "hidden value"}}, "old": out["data"]}
	if slices.Contains([]any{nil, true}, out["a"]) {
		out["a"] = []any{map[string]any{"b": map[string]any{"data": "hidden value"}}}
	}
	out["spec"] = map[string]any{"name": "hidden value", "old": out["spec"]}
	return out
}

// TestRedacted checks that an object is shown without its confidential values, and not changed.
func TestRedacted(t *testing.T) {
	doc := map[string]any{"kind": "Secret", "data": map[string]any{"k": "v"}, "metadata": map[string]any{
		"name": "n", "annotations": map[string]any{"a": "b"}}, "stringData": "x"}
	got := compactJSON(redacted(doc, []string{"data", "stringData", "metadata.annotations"}))
	want := `{"data":{"k":"(not kept)"},"kind":"Secret","metadata":{"annotations":{"a":"(not kept)"},"name":"n"},"stringData":"(not kept)"}`
	if got != want {
		t.Errorf("got %s", got)
	}
	if doc["data"].(map[string]any)["k"] != "v" {
		t.Error("the object was changed")
	}
	if got := compactJSON(redacted(doc, nil)); got != compactJSON(doc) {
		t.Errorf("nothing confidential: %s", got)
	}
}

// BenchmarkFieldChanges compares documents of a megabyte, of which one element in a hundred differs, or all.
func BenchmarkFieldChanges(b *testing.B) {
	for _, every := range []int{100, 1} {
		b.Run(fmt.Sprint("every ", every), func(b *testing.B) {
			before, after := map[string]any{}, map[string]any{}
			for i := range 2000 {
				name, data := fmt.Sprint("n", i), strings.Repeat("x", 450)
				before[name] = map[string]any{"l": []any{map[string]any{"name": name, "data": data, "n": int64(0)}}}
				after[name] = map[string]any{"l": []any{map[string]any{"name": name, "data": data, "n": int64(i % every)}, data[i%every:]}}
			}
			b.SetBytes(int64(len(compactJSON(before))))
			for b.Loop() {
				fieldChanges(before, after, nil)
			}
		})
	}
}
