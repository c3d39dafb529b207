package quickjson

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Read decodes a JSON object. Whole numbers become int64, others float64. Of a
// field that is there twice the last counts.
func Read(data []byte) (map[string]any, error) {
	if content, ok := ReadPlain(data); ok {
		return content, nil
	}
	var content map[string]any
	err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content)
	return content, err
}

// ReadStrict is Read, which also tells of fields that are there twice.
func ReadStrict(data []byte) (content map[string]any, strict []error, err error) {
	if content, ok := ReadPlain(data); ok {
		return content, nil, nil
	}
	strict, err = kjson.UnmarshalStrict(data, &content)
	return content, strict, err
}

// ReadPlain decodes what is in order; ok is false of whatever is not, and of what
// is unusual.
func ReadPlain(data []byte) (content map[string]any, ok bool) {
	r := reading(data)
	if r.next() == '{' {
		content, ok = r.object(1)
	}
	return content, r.done() && ok
}

// ReadAside is ReadPlain, which leaves out the value that names of fields lead to,
// and returns its text, which is part of data; nil if there is none.
func ReadAside(data []byte, path ...string) (content map[string]any, aside []byte, ok bool) {
	r := reading(data)
	r.path, r.met = path, 0
	if r.next() == '{' {
		content, ok = r.object(1)
	}
	aside = r.aside
	return content, aside, r.done() && ok
}

// object reads an object, at whose first brace r is.
func (r *reader) object(depth int) (map[string]any, bool) {
	out := map[string]any{}
	ok := r.members(depth, func(text []byte) bool {
		name, before := r.name(text), len(out)
		onPath := r.met == depth-1 && r.met < len(r.path) && name == r.path[r.met]
		if onPath {
			if depth == len(r.path) {
				return r.setAside(depth)
			}
			r.met++
		}
		value, ok := r.value(depth)
		if onPath {
			r.met--
		}
		out[name] = value
		return ok && len(out) > before // and not there twice
	})
	return out, ok
}

// setAside keeps the text of a value that comes next in an object.
func (r *reader) setAside(depth int) (ok bool) {
	if r.aside != nil {
		return false // there twice
	}
	r.aside, ok = r.raw(depth + 1)
	return ok
}

// array reads an array, at whose first bracket r is.
func (r *reader) array(depth int) ([]any, bool) {
	first := len(r.items)
	ok := r.elements(depth, func(int) bool {
		value, ok := r.value(depth)
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

func (r *reader) value(depth int) (any, bool) {
	switch b := r.next(); {
	case b == '"':
		text, ok := r.text()
		return string(text), ok
	case b == '{':
		return r.object(depth + 1)
	case b == '[':
		return r.array(depth + 1)
	case b == 't':
		return true, r.word("true")
	case b == 'f':
		return false, r.word("false")
	case b == 'n':
		return nil, r.word("null")
	default:
		return r.number()
	}
}

// number reads a number: one that is whole, unless it is very long, or another as
// the library does.
func (r *reader) number() (any, bool) {
	start := r.at
	if n, ok := r.whole(); ok {
		return n, true
	}
	r.at = start
	if isWhole, ok := r.digits(); !ok || isWhole {
		return nil, false
	}
	f, err := strconv.ParseFloat(string(r.data[start:r.at]), 64)
	return f, err == nil
}

// Lasting tells whether a value is, once written, read as the same value: it has
// no fractions, of which those that are whole become int64, and nothing that is
// not decoded JSON.
func Lasting(value any) bool {
	switch v := value.(type) {
	case nil, string, bool, int64:
		return true
	case map[string]any:
		for _, field := range v {
			if !Lasting(field) {
				return false
			}
		}
		return v != nil
	case []any:
		for _, item := range v {
			if !Lasting(item) {
				return false
			}
		}
		return v != nil
	}
	return false
}

// Appender is a value that knows how it is written, as Append would.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// Append appends the JSON of decoded JSON, as encoding/json writes it: fields in
// the order of their names, and what HTML knows escaped. Parts of it may be an
// Appender.
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

// ordinary is how many fields an object seldom has more of.
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

// SortFields puts fields in the order of their names.
func SortFields(fields []Field) {
	if len(fields) > 1 {
		slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	}
}

// AppendFields appends the JSON of an object that has certain fields, in the order
// in which they are given.
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
