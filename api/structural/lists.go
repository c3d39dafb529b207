package structural

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkLists tells which items of sets, and of lists with keys, are there twice.
func checkLists(path *field.Path, v any, n *node) field.ErrorList {
	if n == nil || !n.lists {
		return nil
	}
	var errs field.ErrorList
	switch v := v.(type) {
	case []any:
		switch n.listType {
		case "set":
			for _, i := range repeated(v) {
				errs = append(errs, field.Duplicate(path.Index(i), v[i]))
			}
		case "map":
			errs = checkKeys(path, v, n)
		}
		for i := range v {
			errs = append(errs, checkLists(path.Index(i), v[i], n.items)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if n.values != nil {
				errs = append(errs, checkLists(path.Key(name), v[name], n.values)...)
			}
			if f := n.fields[name]; f != nil {
				errs = append(errs, checkLists(path.Child(name), v[name], f)...)
			}
		}
	}
	return errs
}

// checkKeys tells which items of a list have the same keys.
func checkKeys(path *field.Path, list []any, n *node) field.ErrorList {
	keys := make([]any, len(list))
	for i, item := range list {
		m, ok := item.(map[string]any)
		if item != nil && !ok {
			return field.ErrorList{field.Invalid(path.Index(i), item, "must be an object for an array of list-type map")}
		}
		key := map[string]any{}
		for _, name := range n.listKeys {
			if v, ok := m[name]; ok {
				key[name] = v
			}
		}
		keys[i] = key
	}
	var errs field.ErrorList
	for _, i := range repeated(keys) {
		errs = append(errs, field.Duplicate(path.Index(i), keys[i]))
	}
	return errs
}

// repeated gives the places where values are for the second time.
func repeated(list []any) []int {
	if len(list) < 2 {
		return nil
	}
	times := make(map[any]int, len(list))
	var out []int
	for i, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			data, err := json.Marshal(v)
			if err != nil {
				continue // it came from JSON
			}
			v = compound(data)
		}
		if times[v]++; times[v] == 2 {
			out = append(out, i)
		}
	}
	return out
}

// compound is the text of a value that is no scalar, and differs from that text.
type compound string
