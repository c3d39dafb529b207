package attempts

import (
	"fmt"
	"strings"
)

// IsCollection reports whether the field is a list or a map.
func (f Field) IsCollection() bool {
	return f.Schema.Type == "array" && f.Schema.Items != nil || f.Schema.AdditionalProperties != nil
}

// Grown returns a value of a list or a map with n elements. The elements resemble the first element in
// object. If object has none, they have the required fields, and the fields by which elements are usually
// identified. They differ in their names, numbers and addresses, unless same is set. Lists are in
// descending order, which is the worst for an insertion into a sorted list.
func (f Field) Grown(object map[string]any, n int, same bool) any {
	element, schema := any(nil), f.Schema.AdditionalProperties
	if f.Schema.Type == "array" {
		schema = f.Schema.Items
	}
	switch is := f.Get(object).(type) {
	case []any:
		if len(is) > 0 {
			element = is[0]
		}
	case map[string]any:
		for _, v := range is {
			element = v
		}
	}
	if element == nil {
		element = f.document.identified(*schema, f.Name())
	}
	if f.Schema.Type != "array" {
		out := make(map[string]any, n)
		key := sampleKey(f.Name())
		if key != "a" {
			key = "example.com/a" // the name of a resource
		}
		for i := range n {
			out[fmt.Sprint(key, i)] = numbered(element, i)
		}
		return out
	}
	out := make([]any, n)
	for i := range out {
		number := n - i
		if same {
			number = 1
		}
		out[i] = numbered(element, number)
	}
	return out
}

// identified returns a sample with the optional fields that usually identify an element of a list.
func (d *Document) identified(s Schema, name string) any {
	value := d.sample(s, name, 0)
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	s = d.resolve(s)
	for _, field := range []string{"name", "key", "path", "ip", "uid", "value", "kind"} {
		p, has := s.Properties[field]
		if p = d.resolve(p); has && p.Type == "string" && len(p.Enum) == 0 {
			object[field] = d.sample(p, field, 0)
		}
	}
	return object
}

// numbered returns a copy of a value whose names, addresses and numbers contain i.
func numbered(value any, i int) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[name] = numbered(x, i)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for j, x := range v {
			out[j] = numbered(x, i)
		}
		return out
	case int:
		return i
	case float64:
		return float64(i)
	case string:
		return numberedText(v, i)
	}
	return value
}

func numberedText(v string, i int) string {
	switch {
	case strings.HasPrefix(v, "10."):
		address := fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
		if _, bits, isRange := strings.Cut(v, "/"); isRange {
			return address + "/" + strings.Replace(bits, "24", "32", 1)
		}
		return address
	case v == "d.example.com":
		return fmt.Sprintf("d%d.example.com", i)
	case v == "a", v == "/a", v == "v", v == "main", v == "/v", v == "A", v == "b", v == "c", strings.HasSuffix(v, "/a"):
		return fmt.Sprintf("%s%06d", v, i)
	}
	return v
}
