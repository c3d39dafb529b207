package structural

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkLists returns an error for each duplicate item of sets and of lists of type map.
func checkLists(v any, n *node) field.ErrorList {
	if surelyDistinct(v, n) {
		return nil
	}
	return checkListsAt(nil, v, n)
}

func checkListsAt(path *field.Path, v any, n *node) field.ErrorList {
	if n == nil || !n.containsKeyedLists {
		return nil
	}
	var errs field.ErrorList
	switch v := v.(type) {
	case []any:
		switch n.listType {
		case "set":
			for _, i := range duplicateIndexes(v) {
				errs = append(errs, field.Duplicate(path.Index(i), v[i]))
			}
		case "map":
			errs = checkKeys(path, v, n)
		}
		for i := range v {
			errs = append(errs, checkListsAt(path.Index(i), v[i], n.items)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if n.values != nil {
				errs = append(errs, checkListsAt(path.Key(name), v[name], n.values)...)
			}
			if f := n.fields[name]; f != nil {
				errs = append(errs, checkListsAt(path.Child(name), v[name], f)...)
			}
		}
	}
	return errs
}

// checkKeys returns an error for each item with a duplicate key.
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
	for _, i := range duplicateIndexes(keys) {
		errs = append(errs, field.Duplicate(path.Index(i), keys[i]))
	}
	return errs
}

// duplicateIndexes returns the indexes of the first duplicate of each repeated value.
func duplicateIndexes(list []any) []int {
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
				continue // cannot happen: the value was decoded from JSON
			}
			v = compositeKey(data)
		}
		if times[v]++; times[v] == 2 {
			out = append(out, i)
		}
	}
	return out
}

// compositeKey is the JSON of an object or list as a map key, distinct from an equal
// string value.
type compositeKey string

// maxPairwiseItems is the length up to which a list is compared pairwise.
const maxPairwiseItems = 16

// surelyDistinct reports whether lists surely have no duplicates. It does not allocate;
// false means that checkListsAt has to check.
func surelyDistinct(v any, n *node) bool {
	if n == nil || !n.containsKeyedLists {
		return true
	}
	switch v := v.(type) {
	case []any:
		if (n.listType == "set" || n.listType == "map") && !surelyDistinctItems(v, n) {
			return false
		}
		for _, item := range v {
			if !surelyDistinct(item, n.items) {
				return false
			}
		}
	case map[string]any:
		for name, value := range v {
			if !surelyDistinct(value, n.values) || !surelyDistinct(value, n.fields[name]) {
				return false
			}
		}
	}
	return true
}

func surelyDistinctItems(list []any, n *node) bool {
	if len(list) > maxPairwiseItems {
		return false
	}
	for i, a := range list {
		if n.listType == "map" {
			if _, ok := a.(map[string]any); !ok {
				return false
			}
		}
		for _, b := range list[:i] {
			if n.listType == "set" && !surelyDiffer(a, b) || n.listType == "map" && !surelyDifferInKeys(a, b, n.listKeys) {
				return false
			}
		}
	}
	return true
}

// surelyDifferInKeys reports whether two items surely have different keys.
func surelyDifferInKeys(a, b any, keys []string) bool {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for _, key := range keys {
		if surelyDiffer(x[key], y[key]) {
			return true
		}
	}
	return false
}

// surelyDiffer reports whether two values surely differ: both are strings, integers or
// booleans, and not equal.
func surelyDiffer(a, b any) bool {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && x != y
	case int64:
		y, ok := b.(int64)
		return ok && x != y
	case bool:
		y, ok := b.(bool)
		return ok && x != y
	}
	return false
}
