package document

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a.b/c":"true","n":"1"},"annotations":{},
"finalizers":["x","y: z"]},"spec":{"containers":[{"name":"a","args":["sh","-c","a\nb\n"],"ports":[{"containerPort":80}]},{"name":"b","env":[]}],
"matrix":[[1,2],[],[{"a":null}]],"text":"first\n\n  second\n","quoted":"- a"}}`

// TestLines compares the text with that of kubectl, and checks a few paths.
func TestLines(t *testing.T) {
	object := parsed(t, pod)
	lines, err := Lines(object)
	if err != nil {
		t.Fatal(err)
	}
	want, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if got := Join(lines); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for text, path := range map[string]string{
		`    a.b/c: "true"`:       `metadata.labels["a.b/c"]`,
		"  containers:":           "spec.containers",
		"  - args:":               "spec.containers[0].args",
		"    - sh":                "spec.containers[0].args[0]",
		"      b":                 "spec.containers[0].args[2]",
		"    - containerPort: 80": "spec.containers[0].ports[0].containerPort",
		"  - env: []":             "spec.containers[1].env",
		"    - 2":                 "spec.matrix[0][1]",
		"  annotations: {}":       "metadata.annotations",
	} {
		found := false
		for _, l := range lines {
			if l.Text == text {
				found = true
				if l.Path.String() != path {
					t.Errorf("%q has the path %s, want %s", text, l.Path, path)
				}
			}
		}
		if !found {
			t.Errorf("no line %q", text)
		}
	}
}

func parsed(t testing.TB, text string) (object any) {
	t.Helper()
	if err := utiljson.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// FuzzLines checks that the lines are YAML of the same object, and that the path of each leads to a value.
func FuzzLines(f *testing.F) {
	for _, text := range []string{pod, `{}`, `[]`, `null`, `"a\nb"`, `[[["  a\n b"]]]`, `{"":{"":[""]}}`, `{"a\nb":"\t","~":"~","0x1":1e21}`,
		`{"a":" leading\n line\n\n"}`, `[{"a":"\n\n"},"\n",{"b":" \n"}]`, `{"a":{"b":"` + strings.Repeat("0123456789 ", 30) + `"}}`, `{"a":"#x","b":"x #y","c":"\u0085\u2028","d":"=","e":"<<"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var object any
		if utiljson.Unmarshal([]byte(text), &object) != nil {
			return
		}
		direct, err := yaml.Marshal(object)
		if err != nil {
			t.Skip("no YAML has it")
		}
		lines, err := Lines(object)
		if err != nil {
			t.Fatal(err)
		}
		want, err := yaml.YAMLToJSON(direct)
		if err != nil {
			t.Skip("the library does not read what it wrote")
		}
		got, err := yaml.YAMLToJSON([]byte(Join(lines)))
		if err != nil {
			t.Fatalf("%v in\n%s", err, Join(lines))
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s becomes %s by\n%s", want, got, Join(lines))
		}
		for _, l := range lines {
			if strings.Contains(l.Text, "\n") {
				t.Errorf("a line has two: %q", l.Text)
			}
			if _, found := At(object, l.Path); !found {
				t.Errorf("%q has the path %s, where nothing is", l.Text, l.Path)
			}
		}
	})
}
