package kubectl

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

const webPath = "/apis/apps/v1/namespaces/shop/deployments/web"

// newHistory returns a server with the deployment of the samples.
func newHistory(t *testing.T) *fake {
	t.Helper()
	f := newFake(t)
	f.changes = sampleChanges()
	f.answers[webPath] = sampleObject
	return f
}

// TestHistory compares the table with files, and checks the words for the object.
func TestHistory(t *testing.T) {
	f := newHistory(t)
	golden(t, "history.txt", f.run("history", "deploy/web", "-n", "shop").stdout)
	golden(t, "history-fields.txt", f.run("history", "deploy/web", "-n", "shop", "--fields").stdout)
	want := f.run("history", "deploy/web", "-n", "shop").stdout
	for _, object := range []string{"deployment/web", "deployments.apps/web", "Deployment web", "deployments.v1.apps web", "deploy.apps/web"} {
		if got := f.run(append([]string{"history", "-n", "shop"}, strings.Fields(object)...)...); got.stdout != want || got.code != 0 {
			t.Errorf("%s: %+v", object, got)
		}
	}
	if got := f.run("history", "deploy/web", "-n", "shop"); got.stderr != "note: taking deployments.apps; the name also means deployers.example.com\n" {
		t.Errorf("an ambiguous word: %q", got.stderr)
	}
	if got := f.run("history", "deploy/web", "-n", "shop", "-o", "yaml"); !strings.HasPrefix(got.stdout, "apiVersion: lab.miniapiserver.io/v1alpha1\nitems:\n") {
		t.Errorf("%+v", got)
	}
}

// TestSummary checks what a line tells of a change.
func TestSummary(t *testing.T) {
	for want, c := range map[string]v1alpha1.ChangeSpec{
		"created":                            {Type: v1alpha1.ChangeCreated},
		"deleted":                            {Type: v1alpha1.ChangeDeleted},
		"hidden: no":                         {Type: v1alpha1.ChangeCreated, Hidden: "no"},
		"changed nothing but managedFields":  {Type: v1alpha1.ChangeModified},
		"data.a changed":                     change("data.a (not kept) (not kept)"),
		"metadata.generation: 1 -> 2":        change("metadata.generation 1 2"),
		"spec.a: 1":                          change("metadata.generation 1 2", "spec.a  1"),
		"a: 1 -> 2, b removed, c: 3, 2 more": change("a 1 2", "b 2 ", "c  3", "d  4", "e  5"),
		"a: {...} -> [...]":                  change(`a {"a":"` + strings.Repeat("x", 40) + `"} ["` + strings.Repeat("x", 40) + `"]`),
	} {
		if got := summary(&c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// change returns a change of fields, each "path before after".
func change(fields ...string) v1alpha1.ChangeSpec {
	c := v1alpha1.ChangeSpec{Type: v1alpha1.ChangeModified}
	for _, f := range fields {
		path, values, _ := strings.Cut(f, " ")
		half := strings.Index(values, " ")
		if strings.HasPrefix(values, "(") {
			half = strings.Index(values, ") ") + 1
		}
		c.Fields = append(c.Fields, v1alpha1.FieldChange{Path: path, Before: values[:half], After: values[half+1:]})
	}
	return c
}

// TestObjectNames checks what is said about names that mean no object.
func TestObjectNames(t *testing.T) {
	f := newHistory(t)
	f.answers["/api/v1/namespaces/default/pods/p"] = status(404, metav1.StatusReasonNotFound, `pods "p" not found`, "p")
	f.answers["/api/v1/nodes/n"] = map[string]any{"kind": "Node"}
	for args, want := range map[string]string{
		"":                 "error: history needs an object, such as deployment/web",
		"a b c":            "error: history needs an object",
		"deploy":           `error: "deploy" is a kind; which object? as in deploy/NAME`,
		"web":              `error: "web" is not of the form KIND/NAME`,
		"deploy/":          `error: "deploy/" is not of the form`,
		"/web":             `error: "/web" is not of the form`,
		"a/b/c":            `error: "a/b/c" is not of the form`,
		"deploy/a deploy":  "error: one object at a time",
		"deploymint/web":   `error: the server has no resource "deploymint"; the nearest is deployment`,
		"zzzzz/web":        `error: the server has no resource "zzzzz"; kubectl api-resources`,
		"deploy.nope/web":  "error: the server has no resource",
		"po/p":             `error: pods/default/p: pods "p" not found`,
		"no/n":             "note: nodes/n has not changed since the history of the server begins",
		"nodes.v1/n":       "note: nodes/n has not changed",
		"node.example/n":   "error: nodes.example.com/default/n",
		"events/e":         "error: events/default/e", // no note about the other view of Events
		"nodes.v9.apps/no": "error: the server has no resource",
	} {
		if got := f.run(append([]string{"history"}, strings.Fields(args)...)...); !strings.HasPrefix(strings.TrimPrefix(got.stderr, "note: taking nodes; the name also means nodes.example.com\n"), want) {
			t.Errorf("%q: %+v, want %q", args, got, want)
		}
	}
}

// TestHistoryFollows checks that the changes of an object are shown as it changes.
func TestHistoryFollows(t *testing.T) {
	f := newHistory(t)
	all := f.changes
	f.changes = all[:1]
	f.answers["/apis/apps/v1/namespaces/shop/deployments"] = map[string]any{"metadata": map[string]any{"resourceVersion": "900"}}
	stdout, _, end := f.start("history", "deploy/web", "-n", "shop", "-w")
	stdout.next(t, "created")
	if uri := f.nextWatch(); !strings.Contains(uri, "fieldSelector=metadata.name%3Dweb") || !strings.Contains(uri, "resourceVersion=900") {
		t.Error(uri)
	}
	f.mu.Lock()
	f.changes = all
	f.mu.Unlock()
	f.send(event("MODIFIED", map[string]any{"metadata": map[string]any{"resourceVersion": "1005"}}))
	if line := stdout.next(t, "1005"); !strings.Contains(line, "spec.replicas: 1 -> 5") {
		t.Error(line)
	}
	if code := end(); code != 0 {
		t.Errorf("ends with %d", code)
	}
}

// TestBlame compares the lines with a file, and checks that they are the object.
func TestBlame(t *testing.T) {
	f := newHistory(t)
	got := f.run("blame", "deploy/web", "-n", "shop")
	golden(t, "blame.txt", got.stdout)
	golden(t, "blame-color.txt", f.run("blame", "deploy/web", "-n", "shop", "--color", "always").stdout)
	var text strings.Builder
	for line := range strings.Lines(got.stdout) {
		if _, part, found := strings.Cut(line, "| "); found {
			text.WriteString(part)
		}
	}
	var object, want map[string]any
	if err := yaml.Unmarshal([]byte(text.String()), &object); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(sampleObject), &want); err != nil {
		t.Fatal(err)
	}
	delete(want["metadata"].(map[string]any), "managedFields")
	if !equalJSON(t, object, want) {
		t.Errorf("the lines are not the object:\n%s", text.String())
	}
	var lines []map[string]string
	if err := json.Unmarshal([]byte(f.run("blame", "deploy/web", "-n", "shop", "-o", "json").stdout), &lines); err != nil {
		t.Fatal(err)
	}
	if l := lines[4]; l["path"] != `metadata.labels["a.b/c"]` || l["manager"] != "hpa/scale" || l["resourceVersion"] != "1005" || l["request"] != conflictID {
		t.Errorf("%v", l)
	}
	f.changes[1].Spec.Fields[1].Path = "spec.nope[3]"
	if got := f.run("blame", "deploy/web", "-n", "shop"); !strings.Contains(got.stderr, "because a change cannot be undone") || got.code != 0 {
		t.Errorf("%+v", got)
	}
	f.answers[webPath] = status(404, metav1.StatusReasonNotFound, "not found", "web")
	f.changes[1].Spec.Type = "Deleted"
	if got := f.run("blame", "deploy/web", "-n", "shop"); !strings.Contains(got.stderr, "was deleted by sa/kube-system:hpa at 15:03:05.008") {
		t.Errorf("%+v", got)
	}
}

// TestDiff compares the differences of states.
func TestDiff(t *testing.T) {
	f := newHistory(t)
	diff := func(args ...string) result {
		return f.run(append([]string{"diff", "deploy/web", "-n", "shop"}, args...)...)
	}
	golden(t, "diff.txt", diff("--from", "812", "--to", "1005").stdout)
	golden(t, "diff-color.txt", diff("--from", "812", "--color", "always").stdout)
	golden(t, "diff-created.txt", diff("--to", "812").stdout)
	if got := diff("--from", "900"); got.stdout != diff("--from", "812").stdout {
		t.Errorf("a version between two: %+v", got)
	}
	if got := diff("--from", "812", "--to", "900"); got.stdout != "" || !strings.Contains(got.stderr, "note: the two states are equal") {
		t.Errorf("the same state: %+v", got)
	}
	for args, want := range map[string]string{
		"--from 5":   "--from: the oldest change of the object that the server keeps is resourceVersion 812, after 5",
		"--to x":     `--to: "x" is not a resourceVersion`,
		"--from -1":  `--from: "-1" is not a resourceVersion`,
		"--from 1.5": `--from: "1.5" is not`,
	} {
		if got := diff(strings.Fields(args)...); got.code != 1 || !strings.HasPrefix(strings.TrimPrefix(got.stderr, "note: taking deployments.apps; the name also means deployers.example.com\n"), "error: "+want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	f.changes[1].Spec.Type, f.changes[1].Spec.After = "Deleted", ""
	if got := diff(); !strings.Contains(got.stdout, "+++ (no object)") || !strings.Contains(got.stdout, "-  replicas: 1\n") {
		t.Errorf("a deletion: %+v", got)
	}
	f.changes[0].Spec.Hidden = "you may not read it"
	if got := diff(); got.code != 1 || !strings.Contains(got.stderr, "the change is hidden: you may not read it") {
		t.Errorf("a hidden change: %+v", got)
	}
	f.changes = f.changes[:0:0]
	f.changes = append(f.changes, sampleChanges()[1])
	f.changes[0].Spec.Object = "pods/shop/p"
	if got := diff(); got.code != 1 || !strings.Contains(got.stderr, "the server keeps no change of deployments.apps/shop/web") {
		t.Errorf("no changes: %+v", got)
	}
}
