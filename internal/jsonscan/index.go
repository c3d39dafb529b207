package jsonscan

import (
	"encoding/json"
	"errors"
)

// ErrInvalid is the error of Parse for a text that is not JSON.
var ErrInvalid = errors.New("invalid JSON")

// document is a JSON text of less than 2 GiB with an index of the ends of its objects
// and arrays. The text must not be changed.
type document struct {
	data       []byte
	containers []container
}

// container is an object or array. The containers of a document are in the order in
// which they start.
type container struct {
	end int32 // offset behind its last byte
	// next is the number of the first container that starts behind this one.
	next int32
}

// Value is a value in a text.
type Value struct {
	in       *document
	from, to int32
	// number is the number of the container that the value is, if it is one.
	number int32
}

// Parse checks that a text is JSON, and returns its value.
func Parse(data []byte) (Value, error) {
	if !json.Valid(data) {
		return Value{}, ErrInvalid
	}
	return ParseValid(data), nil
}

// ParseValid returns the value of a text that is known to be JSON.
func ParseValid(data []byte) Value {
	d := &document{data: data}
	var open []int32
	tokens := Tokens{Text: data, Kinds: Containers}
	for b := tokens.Next(); b != 0; b = tokens.Next() {
		switch b {
		case '{', '[':
			open = append(open, int32(len(d.containers)))
			d.containers = append(d.containers, container{})
		case '}', ']':
			last := len(open) - 1
			d.containers[open[last]] = container{end: int32(tokens.To), next: int32(len(d.containers))}
			open = open[:last]
		}
	}
	v, _ := d.value(skipSeparators(data, 0), 0)
	return v
}

// Bytes returns the text of a value.
func (v Value) Bytes() []byte { return v.in.data[v.from:v.to:v.to] }

// IsObject reports whether a value is an object.
func (v Value) IsObject() bool { return v.in.data[v.from] == '{' }

// IsArray reports whether a value is an array.
func (v Value) IsArray() bool { return v.in.data[v.from] == '[' }

// IsNull reports whether a value is null.
func (v Value) IsNull() bool { return v.in.data[v.from] == 'n' }

// value returns the value at an offset, and the number of the first container behind
// it. number is that of the first container at or behind the offset.
func (d *document) value(at int, number int32) (v Value, next int32) {
	v = Value{in: d, from: int32(at), number: number}
	switch d.data[at] {
	case '{', '[':
		c := d.containers[number]
		v.to = c.end
		return v, c.next
	case '"':
		v.to = int32(StringEnd(d.data, at))
	default:
		v.to = int32(wordEnd(d.data, at))
	}
	return v, number
}

// Parts goes through the members of an object or the elements of an array.
type Parts struct {
	in     *document
	at     int
	number int32
	object bool
	key    []byte
	value  Value
}

// Parts returns the parts of a value, which must be an object or an array.
func (v Value) Parts() Parts {
	return Parts{in: v.in, at: int(v.from) + 1, number: v.number + 1, object: v.IsObject()}
}

// Next goes to the first or next part, and reports whether there is one.
func (p *Parts) Next() bool {
	data := p.in.data
	p.at = skipSeparators(data, p.at)
	if data[p.at] == '}' || data[p.at] == ']' {
		return false
	}
	if p.object {
		end := StringEnd(data, p.at)
		p.key = data[p.at:end:end]
		p.at = skipSeparators(data, end)
	}
	p.value, p.number = p.in.value(p.at, p.number)
	p.at = int(p.value.to)
	return true
}

// Key returns the name of a member as it stands in the text, with its quotes.
func (p *Parts) Key() []byte { return p.key }

// Value returns the value of a part.
func (p *Parts) Value() Value { return p.value }

// skipSeparators returns the offset of the first byte that is not white space, a comma
// or a colon.
func skipSeparators(data []byte, at int) int {
	for ; at < len(data); at++ {
		switch data[at] {
		case ' ', ',', ':', '\n', '\t', '\r':
		default:
			return at
		}
	}
	return at
}

// wordEnd returns the offset at which the number or literal ends that starts at an
// offset.
func wordEnd(data []byte, at int) int {
	for ; at < len(data); at++ {
		switch data[at] {
		case ',', ']', '}', ' ', '\n', '\t', '\r':
			return at
		}
	}
	return at
}

// AppendMember appends a member of an object that begins at start; key is in quotes.
func AppendMember(out []byte, start int, key, value []byte) []byte {
	if len(out) > start {
		out = append(out, ',')
	}
	return append(append(append(out, key...), ':'), value...)
}

// AppendElements appends an array with each element as appendElement appends it.
func AppendElements(out []byte, array Value, appendElement func([]byte, Value) []byte) []byte {
	out = append(out, '[')
	start := len(out)
	for p := array.Parts(); p.Next(); {
		if len(out) > start {
			out = append(out, ',')
		}
		out = appendElement(out, p.Value())
	}
	return append(out, ']')
}
