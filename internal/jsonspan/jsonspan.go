// Package jsonspan finds the parts of a JSON text without decoding them. It is for
// patches, which change a small part of a document and copy the rest: a part that
// nobody looks into costs nothing, however long it is and however deep.
package jsonspan

import (
	"encoding/json"
	"errors"
)

// ErrInvalid is the error of Parse for a text that is no JSON.
var ErrInvalid = errors.New("invalid JSON")

// Text is a JSON text of less than 2 GiB with an index of where its objects and
// arrays end. It must not be changed.
type Text struct {
	data       []byte
	containers []container
}

// container is an object or array. Those of a text stand in the order in which they
// begin.
type container struct {
	end int32 // offset behind its last byte
	// next is the number of the first container that begins behind it.
	next int32
}

// Value is a part of a text.
type Value struct {
	text     *Text
	from, to int32
	// number is that of the container that the value is, if it is one.
	number int32
}

// Parse indexes a text, after it has looked whether that is JSON.
func Parse(data []byte) (Value, error) {
	if !json.Valid(data) {
		return Value{}, ErrInvalid
	}
	return ParseValid(data), nil
}

// ParseValid indexes a text that is known to be JSON.
func ParseValid(data []byte) Value {
	t := &Text{data: data}
	var open []int32
	for at := 0; at < len(data); at++ {
		switch data[at] {
		case '"':
			at = endOfString(data, at) - 1
		case '{', '[':
			open = append(open, int32(len(t.containers)))
			t.containers = append(t.containers, container{})
		case '}', ']':
			last := len(open) - 1
			t.containers[open[last]] = container{end: int32(at + 1), next: int32(len(t.containers))}
			open = open[:last]
		}
	}
	v, _ := t.value(skipSpace(data, 0), 0)
	return v
}

// Bytes returns the text of a value.
func (v Value) Bytes() []byte { return v.text.data[v.from:v.to:v.to] }

// IsObject reports whether a value is an object.
func (v Value) IsObject() bool { return v.text.data[v.from] == '{' }

// IsArray reports whether a value is an array.
func (v Value) IsArray() bool { return v.text.data[v.from] == '[' }

// IsNull reports whether a value is null.
func (v Value) IsNull() bool { return v.text.data[v.from] == 'n' }

// value returns the value at an offset, and the number of the first container
// behind it. number is that of the first one at or behind the offset.
func (t *Text) value(at int, number int32) (v Value, next int32) {
	v = Value{text: t, from: int32(at), number: number}
	switch t.data[at] {
	case '{', '[':
		c := t.containers[number]
		v.to = c.end
		return v, c.next
	case '"':
		v.to = int32(endOfString(t.data, at))
	default:
		v.to = int32(endOfWord(t.data, at))
	}
	return v, number
}

// Parts goes through the members of an object or the elements of an array.
type Parts struct {
	text   *Text
	at     int
	number int32
	object bool
	key    []byte
	value  Value
}

// Parts returns the parts of a value, which must be an object or an array.
func (v Value) Parts() Parts {
	return Parts{text: v.text, at: int(v.from) + 1, number: v.number + 1, object: v.IsObject()}
}

// Next goes to the first or next part, if there is one.
func (p *Parts) Next() bool {
	data := p.text.data
	p.at = skipSpace(data, p.at)
	if data[p.at] == '}' || data[p.at] == ']' {
		return false
	}
	if p.object {
		end := endOfString(data, p.at)
		p.key = data[p.at:end:end]
		p.at = skipSpace(data, end)
	}
	p.value, p.number = p.text.value(p.at, p.number)
	p.at = int(p.value.to)
	return true
}

// Key returns the name of a member as it stands in the text, with its quotes.
func (p *Parts) Key() []byte { return p.key }

// Value returns the value of a part.
func (p *Parts) Value() Value { return p.value }

// Unquote returns the string that a JSON string stands for.
func Unquote(quoted []byte) string {
	for _, b := range quoted {
		if b == '\\' || b >= 0x80 { // the decoder replaces what is no UTF-8
			var s string
			_ = json.Unmarshal(quoted, &s) // it is valid
			return s
		}
	}
	return string(quoted[1 : len(quoted)-1])
}

// skipSpace goes past what stands between names and values.
func skipSpace(data []byte, at int) int {
	for ; at < len(data); at++ {
		switch data[at] {
		case ' ', ',', ':', '\n', '\t', '\r':
		default:
			return at
		}
	}
	return at
}

// endOfString returns where the string has ended that begins at an offset.
func endOfString(data []byte, at int) int {
	for i := at + 1; ; i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
}

// endOfWord returns where a number or a literal has ended that begins at an
// offset.
func endOfWord(data []byte, at int) int {
	for ; at < len(data); at++ {
		switch data[at] {
		case ',', ']', '}', ' ', '\n', '\t', '\r':
			return at
		}
	}
	return at
}
