package quickjson

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Read decodes a JSON object. Whole numbers become int64, others float64. The last of
// duplicate fields counts.
func Read(data []byte) (map[string]any, error) {
	if content, ok := ReadPlain(data); ok {
		return content, nil
	}
	var content map[string]any
	err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content)
	return content, err
}

// ReadStrict is Read, and also returns errors for duplicate fields.
func ReadStrict(data []byte) (content map[string]any, strict []error, err error) {
	if content, ok := ReadPlain(data); ok {
		return content, nil, nil
	}
	strict, err = kjson.UnmarshalStrict(data, &content)
	return content, strict, err
}

// ReadPlain decodes common JSON; ok is false for invalid and for unusual text.
func ReadPlain(data []byte) (content map[string]any, ok bool) {
	r := newReader(data)
	if r.Next() == '{' {
		content, ok = r.object()
	}
	return content, r.done() && ok
}

// ReadAside is ReadPlain without the value at a path of field names, whose text it returns: a
// part of data, or nil if there is no such value.
func ReadAside(data []byte, path ...string) (content map[string]any, aside []byte, ok bool) {
	r := newReader(data)
	r.path, r.met = path, 0
	if r.Next() == '{' {
		content, ok = r.object()
	}
	aside = r.aside
	return content, aside, r.done() && ok
}

// object reads an object.
func (r *reader) object() (map[string]any, bool) {
	out := map[string]any{}
	depth := r.Depth + 1
	ok := r.Members(func(str quoted) bool {
		name, ok := r.name(str)
		if !ok {
			return false
		}
		before := len(out)
		onPath := r.met == depth-1 && r.met < len(r.path) && name == r.path[r.met]
		if onPath {
			if depth == len(r.path) {
				return r.setAside()
			}
			r.met++
		}
		value, ok := r.value()
		if onPath {
			r.met--
		}
		out[name] = value
		return ok && len(out) > before // else a duplicate
	})
	return out, ok
}

// setAside stores the text of the next value in an object.
func (r *reader) setAside() (ok bool) {
	if r.aside != nil {
		return false // a duplicate
	}
	r.aside, ok = r.Value()
	return ok
}

// array reads an array.
func (r *reader) array() ([]any, bool) {
	first := len(r.items)
	ok := r.Elements(func(int) bool {
		value, ok := r.value()
		r.items = append(r.items, value)
		return ok
	})
	if !ok {
		return nil, false
	}
	out := append(make([]any, 0, len(r.items)-first), r.items[first:]...)
	clear(r.items[first:])
	r.items = r.items[:first]
	return out, true
}

func (r *reader) value() (any, bool) {
	switch b := r.Next(); {
	case b == '"':
		text, ok := r.text()
		return string(text), ok
	case b == '{':
		return r.object()
	case b == '[':
		return r.array()
	case b == 't':
		return true, r.Literal("true")
	case b == 'f':
		return false, r.Literal("false")
	case b == 'n':
		return nil, r.Literal("null")
	default:
		return r.number()
	}
}

// number reads an integer of usual length as int64, and other numbers as float64.
func (r *reader) number() (any, bool) {
	start := r.At
	if n, ok := r.integer(); ok {
		return n, true
	}
	if isInteger, ok := r.Number(); !ok || isInteger {
		return nil, false
	}
	f, err := strconv.ParseFloat(string(r.Text[start:r.At]), 64)
	return f, err == nil
}

// RoundTrips reports whether a value equals the result of encoding and decoding it: it
// contains only decoded JSON, and no fractions, because whole ones become int64.
func RoundTrips(value any) bool {
	switch v := value.(type) {
	case nil, string, bool, int64:
		return true
	case map[string]any:
		for _, field := range v {
			if !RoundTrips(field) {
				return false
			}
		}
		return v != nil
	case []any:
		for _, item := range v {
			if !RoundTrips(item) {
				return false
			}
		}
		return v != nil
	}
	return false
}

// Appender is a value that appends its own JSON, in the form of Append.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// Append appends the JSON of decoded JSON, as encoding/json writes it: fields sorted by name,
// and the characters <, > and & escaped. Values inside may be Appenders.
func Append(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return AppendString(dst, v), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case map[string]any:
		return appendObject(dst, v)
	case []any:
		return appendArray(dst, v)
	case Appender:
		return v.AppendJSON(dst)
	}
	data, err := json.Marshal(value)
	return append(dst, data...), err
}

// ordinary is the number of fields that few objects exceed.
const ordinary = 16

func appendObject(dst []byte, fields map[string]any) ([]byte, error) {
	if fields == nil {
		return append(dst, "null"...), nil
	}
	var room [ordinary]Field
	sorted := room[:0]
	for name, value := range fields {
		sorted = append(sorted, Field{name, value})
	}
	SortFields(sorted)
	return AppendFields(dst, sorted)
}

// Field is a field of a JSON object.
type Field struct {
	Name  string
	Value any
}

// SortFields sorts fields by name.
func SortFields(fields []Field) {
	if len(fields) > 1 {
		slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	}
}

// AppendFields appends the JSON of an object with the given fields, in the given order.
func AppendFields(dst []byte, fields []Field) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	for i := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, fields[i].Name), ':')
		if dst, err = Append(dst, fields[i].Value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendArray(dst []byte, items []any) ([]byte, error) {
	if items == nil {
		return append(dst, "null"...), nil
	}
	var err error
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = Append(dst, item); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}
