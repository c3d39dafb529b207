package structural

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkLists tells which items of sets, and of lists with keys, are there twice.
func checkLists(v any, n *node) field.ErrorList {
	if distinct(v, n) {
		return nil
	}
	return checkListsAt(nil, v, n)
}

func checkListsAt(path *field.Path, v any, n *node) field.ErrorList {
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

// few is how many items are compared one by one.
const few = 16

// distinct finds that nothing is there twice without making anything. If it does
// not, that means nothing.
func distinct(v any, n *node) bool {
	if n == nil || !n.lists {
		return true
	}
	switch v := v.(type) {
	case []any:
		if (n.listType == "set" || n.listType == "map") && !distinctItems(v, n) {
			return false
		}
		for _, item := range v {
			if !distinct(item, n.items) {
				return false
			}
		}
	case map[string]any:
		for name, value := range v {
			if !distinct(value, n.values) || !distinct(value, n.fields[name]) {
				return false
			}
		}
	}
	return true
}

func distinctItems(list []any, n *node) bool {
	if len(list) > few {
		return false
	}
	for i, a := range list {
		if n.listType == "map" {
			if _, ok := a.(map[string]any); !ok {
				return false
			}
		}
		for _, b := range list[:i] {
			if n.listType == "set" && !differs(a, b) || n.listType == "map" && !differInKeys(a, b, n.listKeys) {
				return false
			}
		}
	}
	return true
}

// differInKeys tells that two items surely have different keys.
func differInKeys(a, b any, keys []string) bool {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for _, key := range keys {
		if differs(x[key], y[key]) {
			return true
		}
	}
	return false
}

// differs tells that two values surely differ: texts, whole numbers and truths of
// which each is like no other.
func differs(a, b any) bool {
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
