package quickjson

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// maxDepth is the greatest depth of texts that are read. The libraries read deeper ones.
const maxDepth = 64

var readers = sync.Pool{New: func() any { return new(reader) }}

// quoted is a string in a text.
type quoted = jsonscan.String[[]byte]

// reader reads one text after another. It caches field names, because objects of a kind have
// the same fields.
type reader struct {
	jsonscan.Scanner[[]byte]
	items []any // of unfinished arrays, one after the other
	names [512]string

	// path has the names that lead to the value whose text ReadAside returns; met is the
	// number of these names that lead to the current object.
	path  []string
	met   int
	aside []byte
}

// newReader returns a reader of a text; done returns it to the pool.
func newReader(data []byte) *reader {
	r := readers.Get().(*reader)
	r.Scanner = jsonscan.Scanner[[]byte]{Text: data, MaxDepth: maxDepth}
	return r
}

// done reports whether all of the text was read.
func (r *reader) done() bool {
	end := r.AtEnd()
	clear(r.items)
	r.items, r.path, r.aside = r.items[:0], nil, nil
	r.Text = nil
	readers.Put(r)
	return end
}

// text reads the string at which r is. It returns false for a string that is not UTF-8
// or has surrogates. The result may share the memory of the text.
func (r *reader) text() ([]byte, bool) {
	str, ok := r.String()
	if !ok || str.Plain {
		return str.Content, ok
	}
	return unescape(str.Content)
}

// unescape replaces the escapes in the content of a string. It fails as text does.
func unescape(content []byte) ([]byte, bool) {
	if bytes.IndexByte(content, '\\') < 0 {
		return content, utf8.Valid(content)
	}
	const ordinary = 64
	return jsonscan.Unescape(make([]byte, 0, len(content)+ordinary), content)
}

// name returns a field's name. It returns false where text does.
func (r *reader) name(str quoted) (name string, ok bool) {
	if str.Plain {
		return r.intern(str.Content), true
	}
	text, ok := unescape(str.Content)
	return r.intern(text), ok
}

// intern returns text as a string, which shares memory with recent equal ones.
func (r *reader) intern(text []byte) string {
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

// integer reads an integer of at most 18 digits. If it returns false, the position is
// unchanged.
func (r *reader) integer() (int64, bool) {
	start := r.At
	if isInteger, ok := r.Number(); !ok || !isInteger {
		r.At = start
		return 0, false
	}
	digits := r.Text[start:r.At]
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		r.At = start
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
