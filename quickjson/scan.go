package quickjson

import (
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

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

	// path leads to a value whose text is kept aside; met is how far into it the
	// object that is being read stands.
	path  []string
	met   int
	aside []byte
}

// reading is a reader of a text, which is to be given back by done.
func reading(data []byte) *reader {
	r := readers.Get().(*reader)
	r.data, r.at = data, 0
	return r
}

// done tells whether all of the text was read.
func (r *reader) done() bool {
	end := r.next() == 0 && r.at == len(r.data)
	clear(r.items)
	r.data, r.items, r.path, r.aside = nil, r.items[:0], nil, nil
	readers.Put(r)
	return end
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
			case 'u':
				c, ok := hexadecimal(r.data[i+1:])
				if !ok {
					return nil, false
				}
				text = utf8.AppendRune(text, c)
				i += 4
			default:
				return nil, false
			}
		}
	}
	return nil, false
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

// hexadecimal is the character whose number text begins with, in four digits; ok
// is false of half a character, of which the library knows more.
func hexadecimal(text []byte) (c rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for _, b := range text[:4] {
		switch {
		case '0' <= b && b <= '9':
			c = c<<4 | rune(b-'0')
		case 'a' <= b && b <= 'f':
			c = c<<4 | rune(b-'a'+10)
		case 'A' <= b && b <= 'F':
			c = c<<4 | rune(b-'A'+10)
		default:
			return 0, false
		}
	}
	return c, !utf16.IsSurrogate(c)
}

// raw goes past a value, and returns its text; ok is false unless it is JSON.
func (r *reader) raw(depth int) (text []byte, ok bool) {
	b := r.next()
	start := r.at
	switch b {
	case '"':
		ok = r.rawText()
	case '{':
		ok = r.parts('}', depth, func(int) bool {
			return r.next() == '"' && r.rawText() && r.skip(':') && r.past(depth+1)
		})
	case '[':
		ok = r.parts(']', depth, func(int) bool { return r.past(depth + 1) })
	case 't':
		ok = r.word("true")
	case 'f':
		ok = r.word("false")
	case 'n':
		ok = r.word("null")
	default:
		_, ok = r.digits()
	}
	if !ok {
		return nil, false
	}
	return r.data[start:r.at], true
}

// past goes past a value.
func (r *reader) past(depth int) bool {
	_, ok := r.raw(depth)
	return ok
}

// members goes through an object, at whose first brace r is. Each is told the name
// of a field, and goes past its value.
func (r *reader) members(depth int, each func(name []byte) bool) bool {
	return r.parts('}', depth, func(int) bool {
		if r.next() != '"' {
			return false
		}
		name, ok := r.text()
		return ok && r.skip(':') && each(name)
	})
}

// elements goes through an array, at whose first bracket r is. Each goes past the
// item of a number.
func (r *reader) elements(depth int, each func(n int) bool) bool { return r.parts(']', depth, each) }

// parts goes through what ends with a byte and has commas between its parts. Each
// goes past the part of a number.
func (r *reader) parts(end byte, depth int, each func(n int) bool) bool {
	if depth > maxDepth {
		return false
	}
	r.at++
	if r.next() == end {
		r.at++
		return true
	}
	for n := 0; each(n); n++ {
		switch r.next() {
		case ',':
			r.at++
		case end:
			r.at++
			return true
		default:
			return false
		}
	}
	return false
}

// rawText goes past a string, at whose first quote r is.
func (r *reader) rawText() bool {
	for i := r.at + 1; i < len(r.data); i++ {
		switch b := r.data[i]; {
		case b == '"':
			r.at = i + 1
			return true
		case b < ' ':
			return false
		case b == '\\':
			if i++; i == len(r.data) {
				return false
			}
			switch r.data[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := hexadecimal(r.data[i+1:]); !ok {
					return false
				}
				i += 4
			default:
				return false
			}
		}
	}
	return false
}

// digits goes past a number; whole tells of one without fraction and exponent. ok
// is false unless it is one of JSON.
func (r *reader) digits() (whole, ok bool) {
	start := r.at
	if r.at < len(r.data) && r.data[r.at] == '-' {
		r.at++
	}
	first := r.at
	if n := r.run(); n == 0 || n > 1 && r.data[first] == '0' {
		r.at = start
		return false, false
	}
	whole = true
	if r.at < len(r.data) && r.data[r.at] == '.' {
		whole = false
		if r.at++; r.run() == 0 {
			return false, false
		}
	}
	if r.at < len(r.data) && (r.data[r.at] == 'e' || r.data[r.at] == 'E') {
		whole = false
		r.at++
		if r.at < len(r.data) && (r.data[r.at] == '+' || r.data[r.at] == '-') {
			r.at++
		}
		if r.run() == 0 {
			return false, false
		}
	}
	return whole, true
}

// run goes past decimal digits, and tells how many there were.
func (r *reader) run() int {
	start := r.at
	for r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9' {
		r.at++
	}
	return r.at - start
}

// whole reads a whole number of at most 18 digits.
func (r *reader) whole() (int64, bool) {
	start := r.at
	if isWhole, ok := r.digits(); !ok || !isWhole {
		return 0, false
	}
	digits := r.data[start:r.at]
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, b := range digits {
		n = 10*n + int64(b-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
