package structural

import (
	"encoding/json"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// drawSchema draws a schema, and drawValue a value that may fit one.
func drawSchema(t *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	kinds := []string{"string", "integer", "number", "boolean", "array", "object", ""}
	kind := rapid.SampledFrom(kinds).Draw(t, "type")
	if kind != "" {
		s["type"] = kind
	}
	some := func(name string, values ...any) {
		if rapid.IntRange(0, 4).Draw(t, name+"?") == 0 {
			s[name] = rapid.SampledFrom(values).Draw(t, name)
		}
	}
	some("nullable", true)
	some("enum", []any{"a", int64(1), nil}, []any{true, 1.5}, []any{"b"})
	some("minimum", 1, -1.5, 0.5, 5e9)
	some("maximum", 1, 2.5, 5e9)
	some("exclusiveMinimum", true)
	some("exclusiveMaximum", true)
	some("multipleOf", 1, 2, 0.5)
	some("minLength", 1, 2)
	some("maxLength", 1, 2)
	some("pattern", "^a", "é")
	some("format", "int32", "int64", "float", "double", "date-time", "byte", "ipv4", "no-such")
	some("maxItems", 1, 2)
	some("minItems", 1)
	some("maxProperties", 1)
	some("minProperties", 1)
	some("required", []any{"a"}, []any{"b"})
	some("x-kubernetes-int-or-string", true)
	some("x-kubernetes-list-type", "set", "map", "atomic")
	some("x-kubernetes-list-map-keys", []any{"a"}, []any{"a", "b"})
	some("x-kubernetes-embedded-resource", true)
	some("x-kubernetes-preserve-unknown-fields", true)
	some("default", "a", int64(1), map[string]any{"a": "b"}, []any{})
	some("x-kubernetes-validations", []any{map[string]any{"rule": "self == self"}},
		[]any{map[string]any{"rule": "self == oldSelf", "fieldPath": ".a", "reason": "FieldValueDuplicate"}},
		[]any{map[string]any{"rule": "size(self) > 0", "messageExpression": "'no' + 'ne'"}, map[string]any{"rule": "!oldSelf.hasValue()", "optionalOldSelf": true}},
		[]any{map[string]any{"rule": "self.a == 'b'"}, map[string]any{"rule": "self.all(x, x == 'a')"}, map[string]any{"rule": "self["}})
	if depth == 0 {
		return s
	}
	sub := func(name string) map[string]any {
		return drawSchema(t, rapid.IntRange(0, depth-1).Draw(t, "depth of "+name))
	}
	if rapid.Bool().Draw(t, "properties?") {
		s["properties"] = map[string]any{"a": sub("a"), "b": sub("b")}
	}
	switch rapid.IntRange(0, 6).Draw(t, "more") {
	case 0:
		s["additionalProperties"] = sub("values")
	case 1:
		s["additionalProperties"] = rapid.Bool().Draw(t, "closed")
	case 2:
		s["items"] = sub("items")
	case 3:
		s["anyOf"] = []any{sub("any"), sub("any")}
	case 4:
		s["allOf"] = []any{sub("all"), sub("all")}
	case 5:
		s["oneOf"] = []any{sub("one"), sub("one")}
	case 6:
		s["not"] = sub("not")
	}
	return s
}

func drawValue(t *rapid.T, depth int) any {
	n := 11
	if depth == 0 {
		n = 9
	}
	switch rapid.IntRange(0, n).Draw(t, "value") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return rapid.SampledFrom([]any{int64(0), int64(1), int64(2), int64(-1), int64(3_000_000_000), int64(5_000_000_000), int64(1 << 62)}).Draw(t, "int")
	case 4, 5:
		return rapid.SampledFrom([]any{0.5, 1.0, 1.5, 2.5, -1.5, 1e300}).Draw(t, "float")
	case 6, 7, 8, 9:
		return rapid.SampledFrom([]any{"", "a", "ab", "é", "1.2.3.4", "aGk=", "2020-01-01T00:00:00Z"}).Draw(t, "text")
	case 10:
		return rapid.Map(rapid.SliceOfN(rapid.Just(0), 0, 3), func(l []int) any {
			out := []any{}
			for range l {
				out = append(out, drawValue(t, depth-1))
			}
			return out
		}).Draw(t, "list")
	}
	out := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, name+"?") {
			out[name] = drawValue(t, depth-1)
		}
	}
	return out
}

// TestQuickAgrees checks that the library accepts every value that fastValidator accepts.
func TestQuickAgrees(t *testing.T) {
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(drawSchema(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		var p props
		if err := json.Unmarshal(data, &p); err != nil {
			t.Skip(err)
		}
		v := newValidator(&p, Release{}.validatesFormat)
		for range 8 {
			value := drawValue(t, 2)
			if !v.quick.accepts(value, nil) {
				continue
			}
			passed++
			if result := newLimitedValidator(v.schema, nil, "", strfmt.Default, nil).Validate(value); !result.IsValid() {
				text, _ := json.Marshal(value)
				t.Fatalf("%s passes %s: %v", data, text, result.Errors)
			}
		}
	})
	if passed == 0 {
		t.Error("nothing passed")
	}
}

// TestAnySchema checks that unchecked schemas, which etcd may contain, cause no panic.
func TestAnySchema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(drawSchema(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		var p props
		if err := json.Unmarshal(data, &p); err != nil {
			t.Skip(err)
		}
		faults := Check(&p, field.NewPath("s"), expression.Writer{})
		s, err := compiled(&p)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		object := func() map[string]any {
			out := map[string]any{"kind": "K", "apiVersion": "g/v1"}
			for _, name := range []string{"a", "b", "status"} {
				out[name] = drawValue(t, 2)
			}
			return out
		}
		value, old := object(), object()
		_, refused := s.Coerce(value)
		setDefaultsOf(t, s, value)
		for _, w := range []Write{{Object: value}, {Object: value, Old: old}, {Object: value, Old: value}, {Object: value, Old: old, StatusOnly: true}} {
			s.Validate(t.Context(), w)
		}
		if refused != nil || len(faults) > 0 {
			return
		}
		if unknown, err := s.Coerce(value); err != nil || len(unknown) > 0 {
			t.Fatalf("%s: after it was pruned and defaulted there is %q (%v)", data, unknown, err)
		}
	})
}

// TestQuick checks that fastValidator accepts ordinary valid values.
func TestQuick(t *testing.T) {
	var p props
	if err := json.Unmarshal([]byte(routes), &p); err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal([]byte(route), &object); err != nil {
		t.Fatal(err)
	}
	if v := newValidator(&p, Release{}.validatesFormat); !v.quick.accepts(object, nil) {
		t.Error("not passed")
	}
}
