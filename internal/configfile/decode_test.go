package configfile

import (
	"errors"
	"strings"
	"testing"
)

type settings struct {
	Kind
	Name  string `json:"name"`
	Rules []struct {
		Size int `json:"size"`
	} `json:"rules"`
}

var settingsKinds = Versions("example.com", "Settings", "v1", "v1beta1")

const settingsHead = "apiVersion: example.com/v1\nkind: Settings\n"

// TestDecode checks the errors of files that are not exactly one of the accepted configurations.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		settingsHead + "name: a\nrules: [{size: 1}]":                        "",
		`{"apiVersion":"example.com/v1beta1","kind":"Settings","name":"a"}`: "",
		"":                     "Object 'Kind' is missing",
		"kind: Settings":       "Object 'apiVersion' is missing",
		"[1]":                  "couldn't get version/kind; json parse error: json: cannot unmarshal array",
		"a: [":                 "yaml: line 1",
		"kind: 1":              "couldn't get version/kind; json parse error: json: cannot unmarshal number",
		"name: 1\nkind: Other": "Object 'apiVersion' is missing",
		"apiVersion: example.com/v2\nkind: Settings\nname: 1": `no kind "Settings" is registered for version "example.com/v2"`,
		"apiVersion: example.com/v1\nkind: Other":             `no kind "Other" is registered for version "example.com/v1"`,
		"apiVersion: example.com/v1\nKind: Settings":          "Object 'Kind' is missing",
		settingsHead + "name: [a]":                            "json: cannot unmarshal array into Go struct field",
		settingsHead + "name: a\nname: b":                     "already set in map",
		settingsHead + "Name: a\nrules: [{size: 1, sise: 2}]": `strict decoding error: unknown field "Name", unknown field "rules[0].sise"`,
	} {
		c, err := Decode[settings]([]byte(text), settingsKinds...)
		switch {
		case (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%q: got %v, want %q", text, err, want)
		case (c == nil) != (err != nil) || c != nil && c.Name != "a":
			t.Errorf("%q: got %v", text, c)
		}
	}
}

// TestDecodeErrors checks that callers can tell the errors of Decode apart.
func TestDecodeErrors(t *testing.T) {
	var syntax *SyntaxError
	for _, text := range []string{"a: [", "kind: A\nkind: A"} {
		if _, err := Decode[settings]([]byte(text), settingsKinds...); !errors.As(err, &syntax) {
			t.Errorf("%q: %v is no SyntaxError", text, err)
		}
	}
	expected := errors.New("expected another kind")
	_, err := Decode[settings]([]byte("kind: A"), settingsKinds...)
	got := Expect(err, func(is Kind) error {
		if is != (Kind{"", "A"}) {
			t.Errorf("got kind %v", is)
		}
		return expected
	})
	if !errors.Is(got, expected) {
		t.Errorf("got %v", got)
	}
	if Expect(nil, nil) != nil || !errors.Is(Expect(expected, nil), expected) {
		t.Error("an error that is not about the kind was replaced")
	}
}

// TestDecodeWithoutKinds checks a file whose kind nobody checks.
func TestDecodeWithoutKinds(t *testing.T) {
	labels, err := Decode[map[string]string]([]byte("a: b"))
	if err != nil || (*labels)["a"] != "b" {
		t.Errorf("got %v, %v", labels, err)
	}
}

// TestDecodeLenient checks that unknown and duplicate fields are faults beside the configuration.
func TestDecodeLenient(t *testing.T) {
	c, faults, err := DecodeLenient[settings]([]byte(settingsHead+"name: b\nname: a\nrules: [{sise: 2}]"), settingsKinds...)
	if err != nil || c.Name != "a" || len(faults) != 2 ||
		!strings.Contains(faults[0].Error(), "already set in map") || faults[1].Error() != `unknown field "rules[0].sise"` {
		t.Errorf("got %v, %v, %v", c, faults, err)
	}
	if _, _, err := DecodeLenient[settings]([]byte("kind: A"), settingsKinds...); err == nil {
		t.Error("another kind was accepted")
	}
}
