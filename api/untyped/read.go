package untyped

import (
	"sync"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// Read decodes a JSON object. Whole numbers become int64, others float64. Of a
// field that is there twice the last counts.
func Read(data []byte) (map[string]any, error) {
	if content, ok := read(data); ok {
		return content, nil
	}
	var content map[string]any
	err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content)
	return content, err
}

// ReadStrict is Read, which also tells of fields that are there twice.
func ReadStrict(data []byte) (content map[string]any, strict []error, err error) {
	if content, ok := read(data); ok {
		return content, nil, nil
	}
	strict, err = kjson.UnmarshalStrict(data, &content)
	return content, strict, err
}

// read decodes what is in order; ok is false of whatever is not, and of what is
// unusual.
func read(data []byte) (content map[string]any, ok bool) {
	r := readers.Get().(*reader)
	r.data, r.at = data, 0
	if r.next() == '{' {
		content, ok = r.object(1)
		ok = ok && r.next() == 0 && r.at == len(data)
	}
	clear(r.items)
	r.data, r.items = nil, r.items[:0]
	readers.Put(r)
	return content, ok
}

// maxDepth is how deep objects are that are read by recursion.
const maxDepth = 64

var readers = sync.Pool{New: func() any { return new(reader) }}

// reader reads one text. It is used again for others, and knows the names that it
// met lately: objects of a kind have the same fields.
type reader struct {
	data  []byte
	at    int
	items []any // of arrays that are being read, one behind the other
	names [512]string
}

// next is the byte that comes after white space; 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.data); r.at++ {
		switch b := r.data[r.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// skip goes past b, which must come next.
func (r *reader) skip(b byte) bool {
	ok := r.next() == b
	r.at++
	return ok
}

// object reads an object, at whose first brace r is.
func (r *reader) object(depth int) (map[string]any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	r.at++
	out := map[string]any{}
	if r.next() == '}' {
		r.at++
		return out, true
	}
	for {
		if r.next() != '"' {
			return nil, false
		}
		text, ok := r.text()
		if !ok || !r.skip(':') {
			return nil, false
		}
		name := r.name(text)
		before := len(out)
		value, ok := r.value(depth)
		if !ok {
			return nil, false
		}
		if out[name] = value; len(out) == before {
			return nil, false // there twice
		}
		switch r.next() {
		case ',':
			r.at++
		case '}':
			r.at++
			return out, true
		default:
			return nil, false
		}
	}
}

// array reads an array, at whose first bracket r is.
func (r *reader) array(depth int) ([]any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	r.at++
	if r.next() == ']' {
		r.at++
		return []any{}, true
	}
	first := len(r.items)
	for {
		value, ok := r.value(depth)
		if !ok {
			return nil, false
		}
		r.items = append(r.items, value)
		switch r.next() {
		case ',':
			r.at++
		case ']':
			r.at++
			out := append(make([]any, 0, len(r.items)-first), r.items[first:]...)
			clear(r.items[first:])
			r.items = r.items[:first]
			return out, true
		default:
			return nil, false
		}
	}
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

func (r *reader) word(w string) bool {
	end := r.at + len(w)
	ok := end <= len(r.data) && string(r.data[r.at:end]) == w
	r.at = end
	return ok
}

// text reads a string, at whose first quote r is; ok is false of one that is not
// UTF-8 or has unusual escapes. It is only good until the next is read.
func (r *reader) text() (text []byte, ok bool) {
	start := r.at + 1
	ascii := true
	for i := start; i < len(r.data); i++ {
		switch b := r.data[i]; {
		case b == '"':
			r.at = i + 1
			text = r.data[start:i]
			return text, ascii || utf8.Valid(text)
		case b == '\\':
			return r.escaped(start, i)
		case b < ' ':
			return nil, false
		case b >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// escaped reads the rest of a string, from its first backslash.
func (r *reader) escaped(start, i int) ([]byte, bool) {
	text := append(make([]byte, 0, 2*(i-start)+64), r.data[start:i]...)
	for ; i < len(r.data); i++ {
		switch b := r.data[i]; {
		case b == '"':
			r.at = i + 1
			return text, utf8.Valid(text)
		case b < ' ':
			return nil, false
		case b != '\\':
			text = append(text, b)
		default:
			if i++; i == len(r.data) {
				return nil, false
			}
			switch r.data[i] {
			case '"', '\\', '/':
				text = append(text, r.data[i])
			case 'n':
				text = append(text, '\n')
			case 't':
				text = append(text, '\t')
			case 'r':
				text = append(text, '\r')
			default:
				return nil, false
			}
		}
	}
	return nil, false
}

// number reads a whole number; others are read by the library's rules, after a
// look at where they end.
func (r *reader) number() (any, bool) {
	start := r.at
	whole := true
	for ; r.at < len(r.data); r.at++ {
		switch b := r.data[r.at]; {
		case '0' <= b && b <= '9', b == '-' && r.at == start:
			continue
		case b == '.', b == 'e', b == 'E', b == '+', b == '-':
			whole = false
			continue
		}
		break
	}
	digits := r.data[start:r.at]
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if !whole {
		return r.fraction(string(r.data[start:r.at]))
	}
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && len(digits) > 1 {
		return nil, false
	}
	var n int64
	for _, b := range digits {
		n = 10*n + int64(b-'0')
	}
	if r.data[start] == '-' {
		n = -n
	}
	return n, true
}

func (r *reader) fraction(text string) (any, bool) {
	var f any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &f); err != nil {
		return nil, false
	}
	return f, true
}

// name is a field's name, the same memory each time if it was met lately.
func (r *reader) name(text []byte) string {
	if len(text) > 48 {
		return string(text)
	}
	const offset, prime = 2166136261, 16777619 // FNV-1a
	h := uint32(offset)
	for _, b := range text {
		h = (h ^ uint32(b)) * prime
	}
	at := &r.names[(h^h>>16)%uint32(len(r.names))]
	if *at != string(text) {
		*at = string(text)
	}
	return *at
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
