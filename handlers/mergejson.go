package handlers

import (
	"bytes"
	"encoding/json"
)

// mergeJSON appends to out what a merge patch makes of old. Both must be valid
// JSON, and neither is read into values: what the patch does not name is copied
// as it stands, so that a small change of a large object costs little.
//
// The rules are RFC 7386's, and where json-patch, which kube-apiserver uses, has
// its own, those: what takes the place of something that is no object loses its
// members that are null, inside arrays too.
func mergeJSON(out, old, patch []byte) []byte {
	changes := membersOf(patch)
	out = append(out, '{')
	start := len(out)
	for m := scan(old); m.next(); {
		change, ok := changes.take(m.key)
		switch {
		case !ok:
			out = appendMember(out, start, m.key, m.value)
		case isNull(change):
		case m.value[0] != '{':
			out = appendPruned(appendMember(out, start, m.key, nil), change)
		case change[0] != '{':
			out = appendMember(out, start, m.key, change)
		default:
			out = mergeJSON(appendMember(out, start, m.key, nil), m.value, change)
		}
	}
	for _, m := range changes.list {
		if change, ok := changes.take(m.key); ok && !isNull(change) {
			out = appendPruned(appendMember(out, start, m.key, nil), change)
		}
	}
	return append(out, '}')
}

// appendPruned appends a value without those members of its objects that are
// null.
func appendPruned(out, value []byte) []byte {
	switch value[0] {
	case '{':
		out = append(out, '{')
		start := len(out)
		for m := scan(value); m.next(); {
			if !isNull(m.value) {
				out = appendPruned(appendMember(out, start, m.key, nil), m.value)
			}
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		start := len(out)
		for m := scan(value); m.next(); {
			if len(out) > start {
				out = append(out, ',')
			}
			out = appendPruned(out, m.value)
		}
		return append(out, ']')
	}
	return append(out, value...)
}

// appendMember appends a member of an object that begins at start.
func appendMember(out []byte, start int, key, value []byte) []byte {
	if len(out) > start {
		out = append(out, ',')
	}
	return append(append(append(out, key...), ':'), value...)
}

func isNull(value []byte) bool { return value[0] == 'n' }

// members are those of an object, to be taken by their keys, once each. Of
// several with the same key the last counts.
type members struct {
	list  []member
	byKey map[string]int // what is left, by the key's text
}

type member struct{ key, value []byte }

func membersOf(object []byte) members {
	m := members{byKey: map[string]int{}}
	for s := scan(object); s.next(); {
		m.byKey[text(s.key)] = len(m.list)
		m.list = append(m.list, member{s.key, s.value})
	}
	return m
}

func (m *members) take(key []byte) ([]byte, bool) {
	name := text(key)
	i, ok := m.byKey[name]
	if !ok {
		return nil, false
	}
	delete(m.byKey, name)
	return m.list[i].value, true
}

// text is what a JSON string says.
func text(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // it is valid
	return s
}

// scanner goes through the members of an object, or the elements of an array,
// in valid JSON.
type scanner struct {
	rest       []byte
	object     bool
	key, value []byte // as they stand; an element has no key
}

func scan(value []byte) scanner {
	s := scanner{rest: value}
	s.skip()
	s.object = s.rest[0] == '{'
	s.rest = s.rest[1:]
	return s
}

// next goes to the first or next member or element, if there is one.
func (s *scanner) next() bool {
	s.skip()
	if s.rest[0] == '}' || s.rest[0] == ']' {
		return false
	}
	if s.object {
		s.key = s.take()
		s.skip()
	}
	s.value = s.take()
	return true
}

// skip goes over what stands between keys and values.
func (s *scanner) skip() {
	for s.rest[0] == ' ' || s.rest[0] == ',' || s.rest[0] == ':' || s.rest[0] == '\n' || s.rest[0] == '\t' || s.rest[0] == '\r' {
		s.rest = s.rest[1:]
	}
}

// take takes the string, number, literal, object or array that comes next.
func (s *scanner) take() []byte {
	end := 0
	switch s.rest[0] {
	case '"':
		end = endOfString(s.rest)
	case '{', '[':
		end = endOfNested(s.rest)
	default:
		end = bytes.IndexAny(s.rest, ",]} \n\t\r")
	}
	value := s.rest[:end:end]
	s.rest = s.rest[end:]
	return value
}

// endOfString is where the string at the beginning of data has ended.
func endOfString(data []byte) int {
	for i := 1; ; i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
}

// endOfNested is where the object or array at the beginning of data has ended.
func endOfNested(data []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch data[i] {
		case '"':
			i += endOfString(data[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
