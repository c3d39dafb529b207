package random

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// accepts are values of Accept. Many are usual, some are not acceptable.
func (s *story) accept() string {
	return pick(s, "application/json", "*/*", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/yaml, */*;q=0.1", "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
		"text/plain", "application/json;as=Nothing;v=v1;g=meta.k8s.io", "application/*", "application/json;q=0.5,application/yaml")
}

// scalar returns a random scalar or empty value.
func (s *story) scalar() any {
	return pick[any](s, "a", "b", "", "A b!", "1", 0, 1, -1, 2, 1.5, 1e3, 12345678901, true, false, nil, []any{}, object{}, "2026-01-02T03:04:05Z", "é", "a/b", "10%")
}

// value returns a random value with at most depth levels of lists and objects.
func (s *story) value(depth int) any {
	if depth == 0 || s.chance(50) {
		return s.scalar()
	}
	if s.chance(40) {
		list := []any{}
		for range s.IntN(3) {
			list = append(list, s.value(depth-1))
		}
		return list
	}
	o := object{}
	for range s.IntN(3) {
		o[pick(s, "a", "b", "c", "name", "key", "value")] = s.value(depth - 1)
	}
	return o
}

// clone returns a deep copy of a JSON value.
func clone[T any](v T) T {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("copy of a value: %v", err)) // values are made of maps, lists and scalars
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		panic(fmt.Sprintf("copy of a value: %v", err))
	}
	return out
}

// place is a value within an object: the names and indices on the way to it.
type place struct {
	path  []any
	value any
}

// pointer returns the place as a JSON pointer.
func (p place) pointer() string {
	var b strings.Builder
	for _, step := range p.path {
		fmt.Fprintf(&b, "/%s", strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step)))
	}
	return b.String()
}

// places lists the values within an object, in a fixed order, without the object itself.
func places(o any) (all []place) {
	var visit func(v any, path []any)
	visit = func(v any, path []any) {
		if len(path) > 0 {
			all = append(all, place{slices.Clone(path), v})
		}
		switch v := v.(type) {
		case object:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				visit(v[k], append(path, k))
			}
		case []any:
			for i, e := range v {
				visit(e, append(path, i))
			}
		}
	}
	visit(o, nil)
	return all
}

// mutate returns a copy of an object with some changes: values removed, replaced, added or repeated.
// Paths that begin with a name in keep stay.
func (s *story) mutate(o object, keep ...string) object {
	o = clone(o)
	for range 1 + s.IntN(3) {
		all := slices.DeleteFunc(places(o), func(p place) bool {
			first, _ := p.path[0].(string)
			return slices.Contains(keep, first)
		})
		if len(all) == 0 {
			break
		}
		at := pick(s, all...)
		switch s.IntN(6) {
		case 0:
			change(o, at.path, func(any) (any, bool) { return nil, false })
		case 1, 2:
			change(o, at.path, func(any) (any, bool) { return s.scalar(), true })
		case 3:
			change(o, at.path, func(any) (any, bool) { return s.value(2), true })
		case 4: // an element twice, or a name that nobody knows
			change(o, at.path, func(v any) (any, bool) {
				switch v := v.(type) {
				case []any:
					if len(v) > 0 {
						return append(v, clone(v[s.IntN(len(v))])), true
					}
				case object:
					v[pick(s, "unknown", "a", "name")] = s.scalar()
				}
				return v, true
			})
		default:
			change(o, at.path, func(v any) (any, bool) { return s.similar(v), true })
		}
	}
	return o
}

// similar returns a value of the same type as v.
func (s *story) similar(v any) any {
	switch v := v.(type) {
	case string:
		return pick(s, "", v+"x", "A b!", strings.Repeat("x", 64), strings.ToUpper(v), "a", "0", "1Gi", v+"/y", "..")
	case bool:
		return !v
	case float64:
		return pick(s, v+1, v-1, 0, -v, v*1000, 70000, 2147483647, 9007199254740993)
	case int:
		return s.similar(float64(v))
	case []any:
		if len(v) > 0 {
			return pick(s, v[1:], slices.Concat(v, v[:1]))
		}
	case object:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if s.chance(50) {
				delete(v, k)
			}
		}
	}
	return v
}

// change replaces the value at a path within o by what do returns, or removes it if do returns false.
func change(o any, path []any, do func(any) (any, bool)) {
	switch o := o.(type) {
	case object:
		name, ok := path[0].(string)
		if !ok {
			return
		}
		if len(path) > 1 {
			change(o[name], path[1:], func(v any) (any, bool) { return do(v) })
			if list, ok := o[name].([]any); ok {
				o[name] = slices.DeleteFunc(list, func(e any) bool { return e == removed })
			}
			return
		}
		v, keep := do(o[name])
		if keep {
			o[name] = v
		} else {
			delete(o, name)
		}
	case []any:
		i, ok := path[0].(int)
		if !ok || i >= len(o) {
			return
		}
		if len(path) > 1 {
			change(o[i], path[1:], do)
			if list, ok := o[i].([]any); ok {
				o[i] = slices.DeleteFunc(list, func(e any) bool { return e == removed })
			}
			return
		}
		v, keep := do(o[i])
		if !keep {
			v = removed
		}
		o[i] = v
	}
}

// removed marks an element of a list that change removes.
var removed any = &struct{ mark int }{}
