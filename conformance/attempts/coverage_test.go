package attempts

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write field-coverage from the answers of the server")

const (
	coverageDir = "field-coverage"
	rulesFile   = "../../api/validation/declarative/rules.txt"
)

// TestFieldCoverage checks that field-coverage has a line for each field of each kind, and no
// other, and that a sample of the lines is true. With -update it writes them.
func TestFieldCoverage(t *testing.T) {
	c := startServer(t)
	want := map[string]*bytes.Buffer{}
	rules, percent := readRules(t), share(t)
	gates, recorded := newGateObserver(t), readRecorded(t, c.kinds())
	if *update {
		percent = 100
	}
	for _, k := range c.kinds() {
		file := k.gv.Group
		if file == "" {
			file = "core"
		}
		if want[file] == nil {
			want[file] = &bytes.Buffer{}
			fmt.Fprintf(want[file], "# Fields of %s\n\nWritten by `make field-coverage`; see [the legend](README.md).\n", file)
		}
		o, random := observer{client: c, kind: k, rules: rules, gates: gates, recorded: recorded, stored: c.store(t, k)}, seeded(k.String())
		fields := k.document.Fields(k.schema, 1, k.isShared)
		o.readUsual(fields)
		fmt.Fprintf(want[file], "\n## %s %s\n\n", k.Kind, k.gv.Version)
		for _, f := range fields {
			facts := ""
			if random.IntN(100) < percent {
				facts = " " + o.facts(f)
			}
			fmt.Fprintf(want[file], "- `%s`%s\n", f, facts)
		}
		if o.stored != nil {
			c.do(http.MethodDelete, k.on(o.stored)+"?gracePeriodSeconds=0", jsonType, nil)
		}
	}
	files, err := filepath.Glob(filepath.Join(coverageDir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		for file, text := range want {
			if err := os.WriteFile(filepath.Join(coverageDir, file+".md"), text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if len(files) != len(want)+1 {
		t.Errorf("%d files, want %d: run make field-coverage", len(files), len(want)+1)
	}
	for file, text := range want {
		content, err := os.ReadFile(filepath.Join(coverageDir, file+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		compareLines(t, file, string(content), text.String())
	}
}

// compareLines compares the fields of two lists, and checks that each line of the first has facts.
func compareLines(t *testing.T, file, got, want string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i, field := range strings.Split(want, "\n") {
		if i >= len(lines) {
			t.Errorf("%s.md has no %s: run make field-coverage", file, field)
			return
		}
		line := lines[i]
		if strings.HasPrefix(field, "- ") && strings.HasSuffix(field, "`") && strings.Count(field, "`") == 2 {
			var facts string
			if line, facts, _ = strings.Cut(line, "` "); facts == "" {
				t.Errorf("%s.md: nothing about %s", file, field)
			}
			line += "`"
		}
		if line != field {
			t.Errorf("%s.md:%d: %s\nwant %s\nrun make field-coverage", file, i+1, line, field)
			return
		}
	}
}

// isShared reports whether the fields of a type are listed with another kind.
func (k *kind) isShared(definition string) bool {
	switch lastSegment(definition) {
	case "PodSpec":
		return k.Kind != "Pod"
	case "PersistentVolumeClaimSpec":
		return k.Kind != "PersistentVolumeClaim"
	case "PersistentVolumeSpec":
		return k.Kind != "PersistentVolume"
	case "JobSpec":
		return k.Kind != "Job"
	case "ResourceClaimSpec":
		return k.Kind != "ResourceClaim"
	case "ObjectMeta":
		return k.Kind != "ConfigMap"
	}
	return lastSegment(definition) == "JSONSchemaProps"
}

// store stores the valid object of a kind that has updates.
func (c *client) store(t *testing.T, k *kind) map[string]any {
	t.Helper()
	if !slices.Contains(k.Verbs, "update") {
		return nil
	}
	a := c.do(http.MethodPost, k.path, jsonType, k.base)
	if !a.ok() {
		t.Fatalf("%s: %d %s", k, a.code, a.status.Message)
	}
	if !k.hasController() {
		return a.object
	}
	// What the status has decides what can be written to it.
	deadline := time.Now().Add(time.Minute)
	for at := k.on(a.object); isEmpty(a.object["status"].(map[string]any)["conditions"]); a = c.do(http.MethodGet, at, jsonType, nil) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: no controller writes the conditions", at)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return a.object
}

// rulesOf returns the declared rules of a field.
func (o *observer) rulesOf(f Field) []string {
	parent := f.parent()
	return o.rules[strings.ToLower(parent+" "+f.Path[len(f.Path)-1])]
}

// parent returns the name of the definition that has the field.
func (f Field) parent() string {
	s := f.document.resolve(f.root)
	for _, head := range f.Path[:len(f.Path)-1] {
		switch head {
		case Item:
			s = f.document.resolve(*s.Items)
		case Value:
			s = f.document.resolve(*s.AdditionalProperties)
		default:
			s = f.document.resolve(s.Properties[head])
		}
	}
	if s.name == "" {
		return lastSegment(f.root.name)
	}
	return s.name
}

// readRules returns the declared rules by the definition and the field in lower case.
func readRules(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	rules, definition := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "k8s.io/"); ok {
			definition = "io.k8s." + strings.ReplaceAll(name, "/", ".")
			continue
		}
		if field, rule, ok := strings.Cut(strings.TrimPrefix(line, "\t"), " "); ok && strings.HasPrefix(line, "\t") {
			key := strings.ToLower(definition + " " + field)
			rules[key] = append(rules[key], "`"+rule+"`")
		}
	}
	return rules
}

func equalJSON(a, b any) bool {
	var x, y any
	left, err := json.Marshal(a)
	if err != nil || json.Unmarshal(left, &x) != nil {
		return false
	}
	right, err := json.Marshal(b)
	if err != nil || json.Unmarshal(right, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

// short returns a value as JSON, cut. The values of maps and lists of objects are left out.
func short(value any) string {
	switch v := value.(type) {
	case []any:
		if len(v) == 2 && equalJSON(v[0], v[1]) {
			return "two equal items"
		}
	case map[string]any:
		if len(v) == 1 {
			if _, ok := v[""]; ok {
				return "an empty key"
			}
		}
		if len(v) > 0 {
			return "the keys `" + strings.Join(slices.Sorted(maps.Keys(v)), "`, `") + "`"
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(text) > 50 {
		return fmt.Sprintf("%d bytes", len(text)-2)
	}
	return "`" + string(text) + "`"
}
