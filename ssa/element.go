package ssa

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// elementKind is the kind of a path element. The order is the one in which elements of different
// kinds are sorted.
type elementKind uint8

const (
	kindField elementKind = iota // a field of a struct, or a key of a map
	kindKey                      // an item of a list, by its key fields
	kindValue                    // an item of a set, by its value
	kindIndex                    // an item of a list, by its index
)

// kindLetters are the prefixes of the kinds in fieldsV1.
const kindLetters = "fkvi"

// element is one step of a path, "f:name" in fieldsV1. text is the part after the colon; for keys
// and values it is canonical JSON, so that equal elements have equal texts.
type element struct {
	kind elementKind
	text string
}

func field(name string) element { return element{kindField, name} }

// String formats e for messages: .name, [key="value"], [="value"], [0].
func (e element) String() string {
	switch e.kind {
	case kindKey:
		var b strings.Builder
		for i, k := range parseKeys(e.text) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(k.name + "=" + formatValue(k.value))
		}
		return "[" + b.String() + "]"
	case kindValue:
		return "[=" + formatValue(parseJSON(e.text)) + "]"
	case kindIndex:
		return "[" + e.text + "]"
	}
	return "." + e.text
}

// compareElements orders elements like structured-merge-diff, which determines the order in
// fieldsV1: by kind, then fields by name, and items by the values of their keys rather than their
// text.
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

// parseElement parses a key of fieldsV1. known is false for unknown kinds, which are dropped.
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
	e = element{elementKind(i), s[2:]}
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

// canonicalKeys returns the canonical JSON of a key element.
func canonicalKeys(text string) (string, error) {
	if isPlainKeys(text) {
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

// isPlainKeys reports whether a text is certainly canonical: an object with sorted names, whose
// values are strings without escapes or small integers.
func isPlainKeys(s string) bool {
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

// comparePlainKeys is compareKeys for texts that satisfy isPlainKeys; ok is false for others.
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

// comparePlainScalars compares two texts accepted by plainScalar: numbers precede strings.
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

// plainString parses a quoted string without characters that encoding/json escapes.
func plainString(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	end := 1 + quickjson.PlainLen(s[1:])
	if end == len(s) || s[end] != '"' {
		return "", "", false
	}
	return s[1:end], s[end+1:], true
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

// pathString formats a path for messages.
func pathString(path []element) string {
	var b strings.Builder
	for _, e := range path {
		b.WriteString(e.String())
	}
	return b.String()
}
