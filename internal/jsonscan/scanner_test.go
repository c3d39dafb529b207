package jsonscan

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// libraryDepth is the depth up to which encoding/json accepts a text.
const libraryDepth = 10000

// scanned are texts that are valid or nearly so.
var scanned = []string{
	``, ` `, `{}`, `[]`, `null`, `true`, `fals`, `nul`, `truex`, `0`, `-0`, `01`, `-`, `1.`, `.5`, `1.5e+3`, `1e`, `1E-07`, `+1`, `1-2`, `1 2`, "1\x00", `"a"`, `"`, `"\`, `"\"`, `"\u12"`, `"\u12G4"`, `"\x"`,
	`"\b\f\n\r\t\/\\\" é \u00e9 \ud83d\ude00 \ud83d x \ude00"`, "\"\x1f\"", "\"\x7f\xff\"", `{"a":1,"b":[true,{"c":null}]}`, `{"a" : 1 , "a" : [ ] }`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `[}`, `{]`, `{} {}`,
}

// value returns the decoded form of the value at the Scanner's position, built from its
// parts.
func value[T Text](s *Scanner[T]) (v any, ok bool) {
	switch s.Next() {
	case '{':
		out := map[string]any{}
		ok = s.Members(func(name String[T]) bool {
			member, ok := value(s)
			out[Unquote(`"`+string(name.Content)+`"`)] = member
			return ok
		})
		return out, ok
	case '[':
		out := []any{}
		ok = s.Elements(func(i int) bool {
			element, ok := value(s)
			out = append(out, element)
			return ok && len(out) == i+1
		})
		return out, ok
	case '"':
		str, ok := s.String()
		if str.Plain {
			return string(str.Content), ok
		}
		return Unquote(`"` + string(str.Content) + `"`), ok
	}
	text, ok := s.Value()
	if ok {
		_ = json.Unmarshal([]byte(text), &v) // nil if a number is too large
	}
	return v, ok
}

// check compares a Scanner of a text with encoding/json.
func check[T Text](t *testing.T, text T) {
	t.Helper()
	want := json.Valid([]byte(text))
	s := Scanner[T]{Text: text, MaxDepth: libraryDepth}
	span, ok := s.Value()
	if ok = ok && s.AtEnd(); ok != want {
		t.Fatalf("%q is valid: %t, but %t for encoding/json", text, ok, want)
	}
	if ok && (string(span) != strings.Trim(string(text), " \t\r\n") || s.Depth != 0) {
		t.Fatalf("%q has the value %q and ends at depth %d", text, span, s.Depth)
	}
	s = Scanner[T]{Text: text, MaxDepth: libraryDepth}
	got, ok := value(&s)
	if ok = ok && s.AtEnd(); ok != want {
		t.Fatalf("%q is valid part by part: %t, but %t for encoding/json", text, ok, want)
	}
	var decoded any
	if !want || json.Unmarshal([]byte(text), &decoded) != nil { // a number may be too large
		return
	}
	if !reflect.DeepEqual(got, decoded) {
		t.Fatalf("%q has the parts %v, but %v for encoding/json", text, got, decoded)
	}
}

// TestScanner compares the Scanner with encoding/json for texts that are valid or nearly
// so.
func TestScanner(t *testing.T) {
	for _, text := range scanned {
		check(t, text)
		check(t, []byte(text))
	}
	for _, depth := range []int{libraryDepth, libraryDepth + 1} {
		check(t, strings.Repeat("[", depth)+strings.Repeat("]", depth))
	}
}

// FuzzScanner checks that the Scanner and encoding/json agree on which texts are valid, and
// on the values of valid texts.
func FuzzScanner(f *testing.F) {
	for _, text := range scanned {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text)
		check(t, []byte(text))
	})
}

// TestUnescape checks that Unescape returns what encoding/json decodes, or false.
func TestUnescape(t *testing.T) {
	for content, decodes := range map[string]bool{``: true, `a`: true, `\"\\\/\b\f\n\r\t`: true, `é\u00e9\u0000`: true, `\ud83d\ude00`: false, `\ud83d`: false, "\xff": false, "\\u00e9\xff": false} {
		got, ok := Unescape([]byte("x"), content)
		var want string
		if err := json.Unmarshal([]byte(`"`+content+`"`), &want); err != nil {
			t.Fatal(err)
		}
		if ok != decodes || ok && string(got) != "x"+want {
			t.Errorf("%s stands for %q, %t; want %q, %t", content, got, ok, want, decodes)
		}
	}
}
