package ssa

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Values here are those of decoded JSON: nil, bool, int64, float64, string,
// []any and map[string]any. Whole numbers equal the floats of the same value.

func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

func parseJSON(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	return v
}

// keyField is one field of a key element.
type keyField struct {
	name  string
	value any
}

func parseKeys(text string) []keyField {
	m, _ := parseJSON(text).(map[string]any)
	return sortedKeys(m)
}

func sortedKeys(m map[string]any) []keyField {
	out := make([]keyField, 0, len(m))
	for name, value := range m {
		out = append(out, keyField{name, value})
	}
	slices.SortFunc(out, func(a, b keyField) int { return strings.Compare(a.name, b.name) })
	return out
}

// compareKeys orders keys by their first field that differs, then by length.
func compareKeys(a, b []keyField) int {
	for i := range min(len(a), len(b)) {
		if c := strings.Compare(a[i].name, b[i].name); c != 0 {
			return c
		}
		if c := compareJSON(a[i].value, b[i].value); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// number returns v as a float if it is a number.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	}
	return 0, false
}

// rank orders values of different types.
func rank(v any) int {
	switch v.(type) {
	case float64, int64:
		return 0
	case string:
		return 1
	case bool:
		return 2
	case []any:
		return 3
	case map[string]any:
		return 4
	}
	return rankOther
}

// rankOther is the rank of null, and of what is no value at all.
const rankOther = 5

// compareJSON is a total order of values.
func compareJSON(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
		y, _ := number(b)
		return cmp.Compare(float64(x), y)
	case float64:
		y, _ := number(b)
		return cmp.Compare(x, y)
	case string:
		return strings.Compare(x, b.(string))
	case bool:
		return strings.Compare(strconv.FormatBool(x), strconv.FormatBool(b.(bool)))
	case []any:
		return slices.CompareFunc(x, b.([]any), compareJSON)
	case map[string]any:
		return compareKeys(sortedKeys(x), sortedKeys(b.(map[string]any)))
	}
	return 0
}

// equalJSON tells whether two values are the same.
func equalJSON(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, ok := y[k]; !ok || !equalJSON(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalJSON)
	}
	if rank(a) == rankOther {
		return a == nil && b == nil
	}
	return compareJSON(a, b) == 0
}

// appendScalar writes v as it stands in path elements.
func appendScalar(b []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case string:
		return appendString(b, x), nil
	case int64:
		return strconv.AppendInt(b, x, 10), nil
	case bool:
		return strconv.AppendBool(b, x), nil
	}
	out, err := json.Marshal(v)
	return append(b, out...), err
}

// appendString writes s in quotes, with HTML characters escaped as
// encoding/json does.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || strings.IndexByte(`\<>&`, c) >= 0 {
			out, _ := json.Marshal(s) // strings do not fail
			return append(b, out...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// showValue spells v as messages do.
func showValue(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(x)
	case []any:
		parts := make([]string, len(x))
		for i := range x {
			parts[i] = showValue(x[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var b strings.Builder
		for _, k := range sortedKeys(x) {
			b.WriteString(k.name + "=" + showValue(k.value))
		}
		return b.String()
	}
	return fmt.Sprint(v)
}
