package structural

import (
	"strings"
	"testing"
)

// TestManyInvalidItems checks that the library stops after some faults in one list or object: it
// would compare the faults below 10^11 times.
func TestManyInvalidItems(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{
		"list":{"type":"array","items":{"type":"string"}},
		"map":{"type":"object","additionalProperties":{"type":"string"}},
		"kept":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
			"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":1}}}},
		"any":{"anyOf":[{"items":{"type":"string"}},{"items":{"type":"boolean"}}],"x-kubernetes-preserve-unknown-fields":true},
		"one":{"oneOf":[{"additionalProperties":{"type":"string"}}],"x-kubernetes-preserve-unknown-fields":true},
		"all":{"allOf":[{"items":{"type":"string"}},{"not":{"items":{"type":"integer"}}}],"x-kubernetes-preserve-unknown-fields":true},
		"last":{"type":"string"}}}`)
	const many = 500_000
	list, fields, kept := make([]any, many), map[string]any{}, make([]any, 3*maxValueFaults)
	for i := range list {
		list[i] = int64(i)
	}
	for i := range many / 5 {
		fields[string(rune(0x10000+i))] = int64(i)
	}
	for i := range kept {
		kept[i] = map[string]any{"name": "n" + string(rune(0x10000+i))}
	}
	for name, tt := range map[string]struct {
		object, old map[string]any
		want        int
	}{
		"items":                   {map[string]any{"list": list}, nil, maxValueFaults},
		"fields":                  {map[string]any{"map": fields}, nil, maxValueFaults},
		"items in anyOf":          {map[string]any{"any": list}, nil, maxValueFaults + 1},
		"fields in oneOf":         {map[string]any{"one": fields}, nil, maxValueFaults + 1},
		"items in allOf":          {map[string]any{"all": list}, nil, maxValueFaults + 1},
		"changed items in anyOf":  {map[string]any{"any": list}, map[string]any{"any": list[:1]}, maxValueFaults + 1},
		"changed object":          {map[string]any{"list": list}, map[string]any{"list": list[:1]}, maxValueFaults},
		"unchanged items":         {map[string]any{"kept": kept, "last": "b"}, map[string]any{"kept": kept, "last": "a"}, 0},
		"after unchanged items":   {map[string]any{"kept": kept, "last": int64(1)}, map[string]any{"kept": kept, "last": "a"}, 1},
		"new after many":          {map[string]any{"kept": append(kept[:len(kept):len(kept)], map[string]any{})}, map[string]any{"kept": kept}, 1},
		"a field beside the list": {map[string]any{"last": int64(1), "map": map[string]any{"a": int64(1), "b": "x"}}, nil, 2},
	} {
		if errs := s.values(t.Context(), Write{Object: tt.object, Old: tt.old}, pairOf(s, tt.object, tt.old)); len(errs) != tt.want {
			t.Errorf("%s: %d errors, want %d", name, len(errs), tt.want)
		}
	}
}

// TestLongFaults checks that the library stops after some faults with long paths, which it would
// compare at each level of a value.
func TestLongFaults(t *testing.T) {
	s := schemaOf(t, `{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`)
	list := make([]any, maxValueFaults)
	for i := range list {
		list[i] = int64(i)
	}
	errs := s.validator().check(t.Context(), nil, map[string]any{strings.Repeat("n", maxFaultText/4): list}, nil)
	if len(errs) != 4 {
		t.Errorf("%d errors, want 4", len(errs))
	}
}

func pairOf(s *Schema, object, old map[string]any) *correlatedValue {
	if old == nil {
		return nil
	}
	return &correlatedValue{value: object, old: old, node: s.shape()}
}
