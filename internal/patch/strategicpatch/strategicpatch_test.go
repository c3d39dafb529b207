package strategicpatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	library "k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// everything has a field for each merge strategy.
type everything struct {
	embedded `json:",inline"`
	Items    []everything          `json:"items" patchStrategy:"merge" patchMergeKey:"name"`
	Kept     []everything          `json:"kept" patchStrategy:"merge,retainKeys" patchMergeKey:"number"`
	Atomic   []everything          `json:"atomic" patchMergeKey:"name"`
	Keyless  []everything          `json:"keyless" patchStrategy:"merge"`
	Words    []string              `json:"words" patchStrategy:"merge"`
	Fixed    []string              `json:"fixed"`
	Pointer  *[]everything         `json:"pointer" patchStrategy:"merge" patchMergeKey:"name"`
	Nested   [][]string            `json:"nested" patchStrategy:"merge"`
	Replaced *everything           `json:"replaced" patchStrategy:"replace"`
	Union    *everything           `json:"union" patchStrategy:"retainKeys"`
	Both     *everything           `json:"both" patchStrategy:"retainKeys,replace"`
	Strange  *everything           `json:"strange" patchStrategy:"merge,replace"`
	Map      map[string]everything `json:"map"`
}

type embedded struct {
	Name    string   `json:"name"`
	Number  int      `json:"number"`
	Numbers []int    `json:"numbers" patchStrategy:"merge"`
	Fields  struct{} `json:"fields"`
}

// kinds are the types that patches are compared with.
var kinds = []any{everything{}, &corev1.Pod{}, &corev1.Service{}, &appsv1.Deployment{}, &corev1.Node{}}

func decode(t interface{ Fatal(...any) }, text string) map[string]any {
	var out map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// outcome returns the result of an implementation as text.
func outcome(t interface{ Fatal(...any) }, original, patch string, apply func(original, patch map[string]any) (map[string]any, error)) (out string) {
	changes := decode(t, patch)
	defer func() {
		if p := recover(); p != nil {
			out = "panic"
		}
	}()
	merged, err := apply(decode(t, original), changes)
	switch {
	case errors.Is(err, ErrUnmergeable):
		return "panic"
	case err != nil:
		return "error: " + err.Error()
	}
	data, err := json.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	// Error messages contain the patch as the merge left it.
	return string(data) + fmt.Sprint(changes)
}

// compare fails the test unless the library can give the same result. The library merges
// fields in random order, so some patches have several results.
func compare(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, original, patch string, kind any) {
	got := outcome(t, original, patch, func(o, p map[string]any) (map[string]any, error) {
		return Apply(context.Background(), o, p, kind)
	})
	outcomes := map[string]bool{}
	for range 60 {
		want := outcome(t, original, patch, func(o, p map[string]any) (map[string]any, error) {
			return library.StrategicMergeMapPatch(o, p, kind)
		})
		if want == got {
			return
		}
		outcomes[want] = true
	}
	t.Fatalf("%T %s\npatched with %s\ngives  %s\nwants %v", kind, original, patch, got, strings.Join(slices.Sorted(maps.Keys(outcomes)), "\n   or "))
}

// drawing generates objects and patches for a type.
type drawing struct {
	random *rand.Rand
	// left is how many more values there may be.
	left    int
	isPatch bool
	// faults is how many of 100 values do not fit the type.
	faults int
}

func (d *drawing) chance(percent int) bool { return d.random.IntN(100) < percent }

func (d *drawing) between(least, most int) int { return least + d.random.IntN(most-least+1) }

func sample[T any](d *drawing, of []T) T { return of[d.random.IntN(len(of))] }

func (d *drawing) value(rt reflect.Type, depth int) any {
	for rt.Kind() == reflect.Pointer {
		rt = rt.Elem()
	}
	d.left--
	if d.chance(d.faults) {
		return sample(d, []any{nil, "a", 1, 1.5, true, []any{}, []any{"a"}, map[string]any{}, []any{nil},
			[]any{[]any{}}, []any{map[string]any{"name": "a"}, "b"}, map[string]any{"name": nil}})
	}
	switch rt.Kind() {
	case reflect.Struct:
		return d.object(rt, depth)
	case reflect.Map:
		out := map[string]any{}
		for range d.between(0, 3) {
			out[d.word()] = d.value(rt.Elem(), depth-1)
		}
		return out
	case reflect.Slice, reflect.Array:
		return d.list(rt.Elem(), depth)
	case reflect.Bool:
		return d.chance(50)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		return d.between(0, 4)
	}
	return d.word()
}

func (d *drawing) word() string {
	return sample(d, []string{"a", "b", "c", "d", "e", "f"})
}

func (d *drawing) list(rt reflect.Type, depth int) []any {
	out := []any{}
	most := 5
	if d.chance(10) {
		most = 30
	}
	if depth <= 0 || d.left <= 0 {
		most = 0
	}
	for range d.between(0, most) {
		out = append(out, d.value(rt, depth-1))
	}
	return out
}

// fieldsOf returns the fields of a struct and of its embedded structs, by JSON name.
func fieldsOf(rt reflect.Type) (out []reflect.StructField) {
	for i := range rt.NumField() {
		f := rt.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			out = append(out, fieldsOf(f.Type)...)
		} else if name != "" && name != "-" {
			f.Name = name
			out = append(out, f)
		}
	}
	return out
}

func (d *drawing) object(rt reflect.Type, depth int) map[string]any {
	out := map[string]any{}
	fields := fieldsOf(rt)
	if len(fields) == 0 || depth <= 0 {
		return out
	}
	for _, f := range fields {
		isList := f.Type.Kind() == reflect.Slice && f.Tag.Get("patchStrategy") != ""
		switch name := f.Name; {
		case strings.Contains(" name type number ip port containerPort mountPath devicePath key uid ", " "+name+" "):
			if !d.chance(d.faults) {
				out[name] = d.value(f.Type, depth-1)
			}
		case name == "metadata" || name == "spec" || name == "template" || name == "containers" || name == "status" || name == "env":
			if d.chance(70) {
				out[name] = d.value(f.Type, depth-1)
			}
		case d.left <= 0:
		case d.chance(200/len(fields)) || isList && d.chance(35):
			out[name] = d.value(f.Type, depth-1)
		}
		if d.isPatch && f.Type.Kind() == reflect.Slice && d.chance(20) {
			d.listDirectives(out, f, depth)
		}
	}
	if d.isPatch {
		d.directives(out, fields)
	}
	return out
}

// listDirectives generates the directives of a patch for a list.
func (d *drawing) listDirectives(out map[string]any, f reflect.StructField, depth int) {
	if d.chance(30) {
		out["$deleteFromPrimitiveList/"+f.Name] = d.list(f.Type.Elem(), depth)
		return
	}
	order := d.list(f.Type.Elem(), depth)
	if list, ok := out[f.Name].([]any); ok && d.chance(85) {
		// Often an order that the list has.
		for i, v := range list {
			at := min(i+d.between(0, 3), len(order))
			if m, ok := v.(map[string]any); ok {
				key := map[string]any{}
				if value, ok := m[f.Tag.Get("patchMergeKey")]; ok {
					key[f.Tag.Get("patchMergeKey")] = value
				}
				if m["$patch"] == "delete" {
					continue
				}
				v = key
			}
			if d.chance(95) {
				order = append(order[:at:at], append([]any{v}, order[at:]...)...)
			}
		}
		if d.chance(60) {
			order = list
		}
	}
	out["$setElementOrder/"+f.Name] = order
}

// directives generates the directives of a patch for an object.
func (d *drawing) directives(out map[string]any, fields []reflect.StructField) {
	if d.chance(12) {
		out["$patch"] = sample(d, []any{"delete", "delete", "delete", "replace", "replace", "merge", "x", 1})
	}
	if d.chance(8) {
		keys := []any{}
		for _, name := range slices.Sorted(maps.Keys(out)) {
			if !strings.HasPrefix(name, "$") && d.chance(97) {
				keys = append(keys, name)
			}
		}
		out["$retainKeys"] = append(keys, sample(d, fields).Name)
	}
	if d.chance(d.faults) {
		out[sample(d, []string{"unknown", "$deleteFromPrimitiveList", "$setElementOrder", "$setElementOrder/", "$deleteFromPrimitiveList/",
			"$setElementOrder/unknown", "$deleteFromPrimitiveList/name", "$setElementOrder/name", "$retainKeys", "NAME"})] =
			sample(d, []any{nil, 1, "a", []any{}, []any{"name"}, []any{map[string]any{}}, map[string]any{}})
	}
}

// TestLibrary checks that patches have the results and the errors of the library.
func TestLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		faults := rapid.SampledFrom([]int{0, 0, 0, 1, 4}).Draw(t, "faults")
		rt := reflect.TypeOf(kind)
		if rt.Kind() == reflect.Pointer {
			rt = rt.Elem()
		}
		text := func(d *drawing) string {
			d.left, d.random = 150, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			data, err := json.Marshal(d.object(rt, 7))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		compare(t, text(&drawing{faults: faults}), text(&drawing{isPatch: true, faults: faults}), kind)
	})
}

// FuzzLibrary compares with the library for arbitrary texts.
func FuzzLibrary(f *testing.F) {
	f.Add(byte(1), `{"spec":{"containers":[{"name":"a","env":[{"name":"b"}]}]}}`, `{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a","$patch":"delete"}]}}`)
	f.Add(byte(0), `{"items":[{"name":"a"},{"name":"a"}],"words":["a","a"]}`, `{"$setElementOrder/words":[],"words":["b"],"items":[{"name":[]}]}`)
	f.Add(byte(0), `{"words":["a","a","b"],"union":{"name":"a"}}`, `{"$deleteFromPrimitiveList/words":["b"],"words":["c"],"union":{"$retainKeys":["number"],"number":1}}`)
	f.Add(byte(0), `{}`, `{"$setElementOrder/items":[[null]],"items":[{}]}`)
	f.Add(byte(0), `{"items":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, `{"$setElementOrder/items":[{"name":"d"}],"items":[{"name":"a","$patch":"delete"},{"name":"d"}]}`)
	f.Fuzz(func(t *testing.T, kind byte, original, patch string) {
		for _, text := range []string{original, patch} {
			var m map[string]any
			if bounds.JSON([]byte(text)) != nil || kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &m) != nil || m == nil {
				return
			}
		}
		compare(t, original, patch, kinds[int(kind)%len(kinds)])
	})
}

// TestRandomOrders checks the results of patches for which the library's depends on the order of
// maps.
func TestRandomOrders(t *testing.T) {
	for _, c := range []struct{ object, patch, want string }{
		{`{}`, `{"words":["a"],"$deleteFromPrimitiveList/words":null}`, `{}`},
		{`{"fixed":[]}`, `{"$setElementOrder/fixed":[{}],"$setElementOrder/words":[],"words":[]}`, "no elements in any of the given slices"},
	} {
		out, err := Apply(t.Context(), decode(t, c.object), decode(t, c.patch), everything{})
		got := ""
		if err != nil {
			got = err.Error()
		} else if data, err := json.Marshal(out); err == nil {
			got = string(data)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.patch, got, c.want)
		}
	}
}
