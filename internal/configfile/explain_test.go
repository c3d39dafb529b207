package configfile

import (
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// TestExplain checks the texts for errors of the libraries that decode configurations.
func TestExplain(t *testing.T) {
	type level string
	type configuration struct {
		Name    string `json:"name"`
		Number  *int32 `json:"number"`
		Switch  bool   `json:"switch"`
		Level   level  `json:"level"`
		Plugins []struct {
			Name string `json:"name"`
			Rest struct{ Field []string }
		} `json:"plugins"`
	}
	for text, want := range map[string]string{
		"- a":                       "the content is a list and must be an object in YAML or JSON",
		"a":                         "the content is a text and must be an object in YAML or JSON",
		"name: [a]":                 "field name is a list and must be a text",
		"number: a":                 "field number is a text and must be a whole number",
		"number: 1.5":               "field number is a number and must be a whole number",
		"level: [a]":                "field level is a list and must be of another type",
		"switch: 1":                 "field switch is a number and must be true or false",
		"plugins: a":                "field plugins is a text and must be a list",
		"plugins: [a]":              "field plugins is a text and must be an object",
		"plugins: [{Rest: [a]}]":    "field plugins.Rest is a list and must be an object",
		"name: a\nname: b":          `is not valid YAML: line 2: key "name" already set in map`,
		"name: {":                   "is not valid YAML: line 1: did not find expected node content",
		"other: a":                  `unknown field "other"`,
		"\x00":                      "is not valid YAML: control characters are not allowed",
		"name: a\n- b":              "is not valid YAML: line 1: did not find expected key",
		"plugins: [{name: {b: c}}]": "field plugins.name is an object and must be a text",
	} {
		err := yaml.UnmarshalStrict([]byte(text), &configuration{})
		if err == nil || Explain(err.Error()) != want {
			t.Errorf("%q: got %q, want %q", text, Explain(err.Error()), want)
		}
	}
	if _, err := kjson.UnmarshalStrict([]byte(`{"plugins":1}`), &configuration{}); Explain("f: "+err.Error()) != "f: field plugins is a number and must be a list" {
		t.Error(Explain(err.Error()))
	}
	if got := Explain("/a.yaml: b"); got != "/a.yaml: b" {
		t.Errorf("a file: %q", got)
	}
	if got := Explain("a\nb"); got != "a; b" {
		t.Errorf("two lines: %q", got)
	}
}
