package ssa

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// Values are decoded JSON: nil, bool, int64, float64, string, []any and map[string]any. Integers
// equal the floats of the same value.

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

// compareKeys orders keys by the first field that differs, then by length.
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

// asFloat returns a number as a float, and 0 for any other value.
func asFloat(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	}
	return 0
}

// typeRank orders values of different types.
func typeRank(v any) int {
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

// rankOther is the rank of null and of values of other types.
const rankOther = 5

// compareJSON is a total order of decoded JSON.
func compareJSON(a, b any) int {
	if c := cmp.Compare(typeRank(a), typeRank(b)); c != 0 {
		return c
	}
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(float64(x), asFloat(b))
	case float64:
		return cmp.Compare(x, asFloat(b))
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

// equalJSON reports whether two decoded values are equal.
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
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	}
	if typeRank(a) == rankOther {
		return a == nil && b == nil
	}
	return compareJSON(a, b) == 0
}

// appendScalar appends v as in path elements.
func appendScalar(b []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case string:
		return quickjson.AppendString(b, x), nil
	case int64:
		return strconv.AppendInt(b, x, 10), nil
	case bool:
		return strconv.AppendBool(b, x), nil
	}
	out, err := json.Marshal(v)
	return append(b, out...), err
}

// formatValue formats v for messages.
func formatValue(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(x)
	case []any:
		parts := make([]string, len(x))
		for i := range x {
			parts[i] = formatValue(x[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var b strings.Builder
		for _, k := range sortedKeys(x) {
			b.WriteString(k.name + "=" + formatValue(k.value))
		}
		return b.String()
	}
	return fmt.Sprint(v)
}
