package ssa

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// kind tells the kinds of path elements apart. Their order is the order in
// which elements of different kinds are sorted.
type kind uint8

const (
	kindField kind = iota // a field of a struct, or a key of a map
	kindKey               // an item of a list, by its key fields
	kindValue             // an item of a set, by its value
	kindIndex             // an item of a list, by its place
)

// kindLetters are how fieldsV1 spells the kinds.
const kindLetters = "fkvi"

// element is one step of a path: what fieldsV1 writes as "f:name". text is what
// stands after the colon; for keys and values it is compact JSON with its names
// in order, so that equal elements have equal texts.
type element struct {
	kind kind
	text string
}

func field(name string) element { return element{kindField, name} }

// String spells e as messages do: .name, [key="value"], [="value"], [0].
func (e element) String() string {
	switch e.kind {
	case kindKey:
		var b strings.Builder
		for i, k := range parseKeys(e.text) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(k.name + "=" + showValue(k.value))
		}
		return "[" + b.String() + "]"
	case kindValue:
		return "[=" + showValue(parseJSON(e.text)) + "]"
	case kindIndex:
		return "[" + e.text + "]"
	}
	return "." + e.text
}

// compareElements orders elements as structured-merge-diff does, which sorts
// the keys of fieldsV1 by it: by kind, then fields by name, items by the values
// of their keys and not by the text.
func compareElements(a, b element) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	if a.text == b.text {
		return 0
	}
	switch a.kind {
	case kindKey:
		if c, ok := comparePlainKeys(a.text, b.text); ok {
			return c
		}
		return compareKeys(parseKeys(a.text), parseKeys(b.text))
	case kindValue:
		return compareJSON(parseJSON(a.text), parseJSON(b.text))
	case kindIndex:
		i, _ := strconv.Atoi(a.text)
		j, _ := strconv.Atoi(b.text)
		return cmp.Compare(i, j)
	}
	return strings.Compare(a.text, b.text)
}

// parseElement reads an element as it stands in fieldsV1. known is false for
// kinds that this server does not know, which are to be dropped.
func parseElement(s string) (e element, known bool, err error) {
	if len(s) < 2 {
		return e, false, errorf("key must be 2 characters long: %q", s)
	}
	if s[1] != ':' {
		return e, false, errorf("missing colon: %v", s)
	}
	i := strings.IndexByte(kindLetters, s[0])
	if i < 0 {
		return e, false, nil
	}
	e = element{kind(i), s[2:]}
	switch e.kind {
	case kindKey:
		e.text, err = canonicalKeys(e.text)
	case kindValue:
		e.text, err = canonicalJSON(e.text)
	case kindIndex:
		var n int
		n, err = strconv.Atoi(e.text)
		e.text = strconv.Itoa(n)
	}
	return e, true, err
}

// canonicalKeys brings the text of a key element into the form in which equal
// keys have equal texts.
func canonicalKeys(text string) (string, error) {
	if plainKeys(text) {
		return text, nil
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return "", errorf("key %q: %w", text, err)
	}
	out, err := json.Marshal(m)
	return string(out), err
}

func canonicalJSON(text string) (string, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", errorf("value %q: %w", text, err)
	}
	out, err := json.Marshal(v)
	return string(out), err
}

// plainKeys tells texts that are surely canonical: one object of names in
// order, with values that are simple strings or small whole numbers.
func plainKeys(s string) bool {
	last := ""
	for rest, first := s, true; ; first = false {
		lead := byte(',')
		if first {
			lead = '{'
		}
		if len(rest) < 2 || rest[0] != lead {
			return rest == "}" && !first
		}
		name, after, ok := plainString(rest[1:])
		if !ok || (!first && name <= last) || len(after) < 2 || after[0] != ':' {
			return false
		}
		last = name
		if rest, ok = plainScalar(after[1:]); !ok {
			return false
		}
	}
}

// comparePlainKeys is compareKeys for texts that are plain as plainKeys has it;
// ok is false for others.
func comparePlainKeys(a, b string) (c int, ok bool) {
	for {
		if len(a) < 2 || len(b) < 2 {
			return cmp.Compare(len(a), len(b)), a == "}" || b == "}"
		}
		nameA, restA, okA := plainString(a[1:])
		nameB, restB, okB := plainString(b[1:])
		if !okA || !okB || restA == "" || restB == "" {
			return 0, false
		}
		if c := strings.Compare(nameA, nameB); c != 0 {
			return c, true
		}
		a, okA = plainScalar(restA[1:])
		b, okB = plainScalar(restB[1:])
		if !okA || !okB {
			return 0, false
		}
		x, y := restA[1:len(restA)-len(a)], restB[1:len(restB)-len(b)]
		if c := comparePlainScalars(x, y); c != 0 {
			return c, true
		}
	}
}

// comparePlainScalars compares two texts that plainScalar has read: numbers
// come before strings.
func comparePlainScalars(a, b string) int {
	switch {
	case a == b:
		return 0
	case a[0] == '"' && b[0] == '"':
		return strings.Compare(a[1:len(a)-1], b[1:len(b)-1])
	case a[0] == '"':
		return 1
	case b[0] == '"':
		return -1
	case len(a) != len(b):
		return cmp.Compare(len(a), len(b))
	}
	return strings.Compare(a, b)
}

// plainString reads a quoted string that needs no escapes.
func plainString(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[1:i], s[i+1:], true
		case c < ' ' || c > '~' || strings.IndexByte(`\<>&`, c) >= 0:
			return "", "", false
		}
	}
	return "", "", false
}

func plainScalar(s string) (rest string, ok bool) {
	if s != "" && s[0] == '"' {
		_, rest, ok = plainString(s)
		return rest, ok
	}
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 || n > 15 || (n > 1 && s[0] == '0') {
		return "", false
	}
	return s[n:], true
}

// pathString spells a path as messages do.
func pathString(path []element) string {
	var b strings.Builder
	for _, e := range path {
		b.WriteString(e.String())
	}
	return b.String()
}
