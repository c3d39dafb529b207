package attempts

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// recorded has the first steps of the recorded conversations that set a field right and wrong, by
// the group, kind and path of the field.
type recorded struct{ right, wrong map[string]string }

// readRecorded reads the conversations.
func readRecorded(t *testing.T, kinds []*kind) recorded {
	t.Helper()
	paths, err := filepath.Glob("../testdata/conversations/*.json.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d conversations: %v", len(paths), err)
	}
	files, err := conversation.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	r := recorded{map[string]string{}, map[string]string{}}
	for _, file := range files {
		for _, scenario := range file.Scenarios {
			for _, step := range scenario.Steps {
				if key := keyOf(step.Path, kinds); key != "" {
					r.read(key, step, scenario.Name+" / "+step.ID)
				}
			}
		}
	}
	return r
}

// keyOf returns the group and kind of the objects at a path, or "".
func keyOf(path string, kinds []*kind) string {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(segments) > 3 && segments[0] == "apis":
		group, segments = segments[1], segments[3:]
	case len(segments) > 2 && segments[0] == "api":
		segments = segments[2:]
	default:
		return ""
	}
	if segments[0] == "namespaces" && len(segments) > 2 {
		segments = segments[2:]
	}
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.gv.Group == group && k.Name == segments[0] })
	if i < 0 || len(segments) > 2 && segments[2] != "status" {
		return ""
	}
	return group + " " + kinds[i].Kind
}

// read notes what a step says about fields.
func (r recorded) read(key string, step conversation.Step, name string) {
	var body map[string]any
	if json.Unmarshal(step.Body, &body) != nil || step.Method == "DELETE" {
		return
	}
	switch status := fmt.Sprint(step.Expect["status"]); {
	case status == "200" || status == "201":
		note(r.right, key+" ", body, name)
	case status == "422":
		var answer struct {
			Body struct {
				Details struct{ Causes []struct{ Field string } }
			}
		}
		text, err := json.Marshal(step.Expect)
		if err != nil || json.Unmarshal(text, &answer) != nil {
			return
		}
		for _, cause := range answer.Body.Details.Causes {
			first(r.wrong, key+" "+plain(cause.Field), name)
		}
	}
}

// note notes that a step sets the fields of an object.
func note(steps map[string]string, prefix string, value any, name string) {
	switch v := value.(type) {
	case map[string]any:
		for field, below := range v {
			first(steps, prefix+field, name)
			note(steps, prefix+field+".", below, name)
		}
	case []any:
		for _, element := range v {
			note(steps, prefix, element, name)
		}
	}
}

// first sets a key that has no value, for a pod in a template too.
func first(steps map[string]string, key, name string) {
	if steps[key] == "" {
		steps[key] = name
	}
	if _, field, ok := strings.Cut(key, "template.spec."); ok && steps[" Pod spec."+field] == "" {
		steps[" Pod spec."+field] = name
	}
}

// of names the steps that set a field right and wrong.
func (r recorded) of(k *kind, f Field) string {
	key := k.gv.Group + " " + k.Kind + " " + plain(f.String())
	right, wrong := r.right[key], r.wrong[key]
	switch {
	case strings.HasSuffix(f.String(), Item), strings.HasSuffix(f.String(), Value), right == "" && wrong == "":
		return ""
	case wrong == "":
		return fmt.Sprintf("recorded: right in `%s`", right)
	case right == "":
		return fmt.Sprintf("recorded: wrong in `%s`", wrong)
	}
	return fmt.Sprintf("recorded: right in `%s`, wrong in `%s`", right, wrong)
}
