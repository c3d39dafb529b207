package untyped

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"
)

// scratches are for what is copied once it is known how long it is.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// Exactly returns what write appends, in memory of just that size.
func Exactly(write func([]byte) ([]byte, error)) ([]byte, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	data, err := write((*scratch)[:0])
	if err != nil {
		return nil, err
	}
	*scratch = data
	return append(make([]byte, 0, len(data)), data...), nil
}

// Append appends the JSON of decoded JSON, as encoding/json writes it: fields in
// the order of their names, and what HTML knows escaped.
func Append(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return appendString(dst, v), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case map[string]any:
		return appendObject(dst, v)
	case []any:
		return appendArray(dst, v)
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
	var room [ordinary]string
	names := room[:0]
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return AppendFields(dst, fields, names)
}

// AppendFields appends the JSON of an object that has certain fields of another,
// in the order in which they are named.
func AppendFields(dst []byte, fields map[string]any, names []string) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, name), ':')
		if dst, err = Append(dst, fields[name]); err != nil {
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

// What is to be done with a byte of a string: nothing, a backslash before the
// letter given, or what only the library knows.
const (
	plain   = 0
	unusual = 1
)

var escapes = func() (out [256]byte) {
	for b := range out {
		if b < ' ' || b >= 0x80 {
			out[b] = unusual
		}
	}
	out['<'], out['>'], out['&'] = unusual, unusual, unusual
	out['"'], out['\\'] = '"', '\\'
	out['\n'], out['\r'], out['\t'] = 'n', 'r', 't'
	return out
}()

func appendString(dst []byte, s string) []byte {
	before := len(dst)
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		switch e := escapes[s[i]]; e {
		case plain:
		case unusual:
			data, _ := json.Marshal(s) // every string has a JSON form
			return append(dst[:before], data...)
		default:
			dst = append(append(dst, s[start:i]...), '\\', e)
			start = i + 1
		}
	}
	return append(append(dst, s[start:]...), '"')
}
