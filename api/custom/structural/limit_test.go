package structural

import "testing"

// TestManyInvalidItems checks that the library stops after some faults in one list or object: it
// would compare the faults below 10^11 times.
func TestManyInvalidItems(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{
		"list":{"type":"array","items":{"type":"string"}},
		"map":{"type":"object","additionalProperties":{"type":"string"}},
		"kept":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
			"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":1}}}},
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
		"changed object":          {map[string]any{"list": list}, map[string]any{"list": list[:1]}, maxValueFaults},
		"unchanged items":         {map[string]any{"kept": kept, "last": "b"}, map[string]any{"kept": kept, "last": "a"}, 0},
		"after unchanged items":   {map[string]any{"kept": kept, "last": int64(1)}, map[string]any{"kept": kept, "last": "a"}, 1},
		"new after many":          {map[string]any{"kept": append(kept[:len(kept):len(kept)], map[string]any{})}, map[string]any{"kept": kept}, 1},
		"a field beside the list": {map[string]any{"last": int64(1), "map": map[string]any{"a": int64(1), "b": "x"}}, nil, 2},
	} {
		if errs := s.values(Write{Object: tt.object, Old: tt.old}, pairOf(s, tt.object, tt.old)); len(errs) != tt.want {
			t.Errorf("%s: %d errors, want %d", name, len(errs), tt.want)
		}
	}
}

func pairOf(s *Schema, object, old map[string]any) *correlatedValue {
	if old == nil {
		return nil
	}
	return &correlatedValue{value: object, old: old, node: s.shape()}
}
