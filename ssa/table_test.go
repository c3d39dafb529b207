package ssa

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api"
)

// operation is one step of a history.
type operation interface {
	do(h *history) error
}

// history is an object through time.
type history struct {
	m    *Manager
	res  *api.Resource
	live api.Object
	now  time.Time
}

func (h *history) write(manager, subresource string, force bool) Write {
	h.now = h.now.Add(time.Second)
	return Write{Version: &h.res.Versions[0], Manager: manager, Subresource: subresource, Force: force, Now: h.now}
}

func (h *history) body(text string) map[string]any {
	body := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &body); err != nil {
		panic(err)
	}
	body["apiVersion"], body["kind"] = h.res.Hub().String(), h.res.Kind
	if body["metadata"] == nil {
		body["metadata"] = map[string]any{}
	}
	body["metadata"].(map[string]any)["name"] = "x"
	return body
}

// apply is an operation that applies an object in YAML.
type apply struct {
	manager, object string
	force           bool
	// conflicts are the expected conflicts with their owners.
	conflicts []string
}

func (a apply) do(h *history) error {
	obj, err := h.m.Apply(h.live, h.body(a.object), h.write(a.manager, "", a.force))
	if err != nil {
		return a.check(err)
	}
	if len(a.conflicts) > 0 {
		return fmt.Errorf("no conflict about %v", a.conflicts)
	}
	obj.SetUID("u")
	h.live = obj
	return nil
}

func (a apply) check(err error) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Reason != metav1.StatusReasonConflict {
		return err
	}
	var got []string
	for _, c := range status.ErrStatus.Details.Causes {
		got = append(got, c.Message+": "+c.Field)
	}
	if fmt.Sprint(got) != fmt.Sprint(a.conflicts) {
		return fmt.Errorf("conflicts %q, should be %q", got, a.conflicts)
	}
	return nil
}

// update is an operation that replaces the object by one in YAML.
type update struct{ manager, object string }

func (u update) do(h *history) error {
	text, err := yaml.Marshal(h.body(u.object))
	if err != nil {
		return err
	}
	obj := h.res.New()
	if err := yaml.Unmarshal(text, obj); err != nil {
		return err
	}
	if err := h.m.Update(h.live, obj, h.write(u.manager, "", false)); err != nil {
		return err
	}
	obj.SetUID("u")
	h.live = obj
	return nil
}

// expect is an operation that compares the object and its owners.
type expect struct {
	object string
	owners []string
}

func (e expect) do(h *history) error {
	var got []string
	for _, f := range h.live.GetManagedFields() {
		got = append(got, fmt.Sprintf("%s %s %s", f.Manager, f.Operation, f.FieldsV1.GetRawString()))
	}
	if strings.Join(got, "\n") != strings.Join(e.owners, "\n") {
		return fmt.Errorf("owners\n%s\nshould be\n%s", strings.Join(got, "\n"), strings.Join(e.owners, "\n"))
	}
	obj := h.live.DeepCopyObject().(api.Object)
	obj.SetManagedFields(nil)
	obj.SetUID("")
	obj.SetName("")
	text, err := yaml.Marshal(obj)
	if err != nil {
		return err
	}
	want := strings.TrimSpace(e.object)
	body := strings.NewReplacer("metadata: {}\n", "", "kind: ConfigMap\n", "", "apiVersion: v1\n", "").Replace(string(text))
	if strings.TrimSpace(body) != want {
		return fmt.Errorf("object\n%s\nshould be\n%s", body, want)
	}
	return nil
}

var tables = map[string][]operation{
	"what is given up goes": {
		apply{manager: "one", object: "data: {a: '1', b: '1'}"},
		apply{manager: "one", object: "data: {a: '1'}"},
		expect{"data:\n  a: \"1\"", []string{`one Apply {"f:data":{"f:a":{}}}`}},
	},
	"what is shared stays": {
		apply{manager: "one", object: "data: {a: '1', b: '1'}"},
		apply{manager: "two", object: "data: {b: '1'}"},
		apply{manager: "one", object: "data: {a: '1'}"},
		expect{"data:\n  a: \"1\"\n  b: \"1\"", []string{`two Apply {"f:data":{"f:b":{}}}`, `one Apply {"f:data":{"f:a":{}}}`}},
	},
	"conflicts, and force": {
		apply{manager: "one", object: "data: {a: '1', b: '1'}"},
		update{"editor", "data: {a: '1', b: '2'}"},
		apply{manager: "two", object: "data: {a: '3', b: '3'}", conflicts: []string{
			`conflict with "editor" using v1: .data.b`, `conflict with "one": .data.a`}},
		apply{manager: "two", object: "data: {a: '3', b: '3'}", force: true},
		expect{"data:\n  a: \"3\"\n  b: \"3\"", []string{`two Apply {"f:data":{"f:a":{},"f:b":{}}}`}},
	},
	"an update makes a new owner, and what is removed has none": {
		apply{manager: "one", object: "data: {a: '1', b: '1', c: '1'}"},
		update{"editor", "data: {a: '1', b: '2'}"},
		expect{"data:\n  a: \"1\"\n  b: \"2\"", []string{`one Apply {"f:data":{"f:a":{}}}`, `editor Update {"f:data":{"f:b":{}}}`}},
	},
	"kubectl goes over from client-side apply": {
		update{"kubectl-client-side-apply", `
metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","b":"1"}}'}}
data: {a: '1', b: '2'}`},
		apply{manager: "two", object: "data: {a: '3'}", conflicts: []string{`conflict with "kubectl-client-side-apply" using v1: .data.a`}},
		apply{manager: "kubectl", object: "data: {a: '3', b: '3'}", conflicts: []string{`conflict with "kubectl-client-side-apply" using v1: .data.b`}},
		apply{manager: "kubectl", object: "data: {a: '3'}"},
		expect{"data:\n  a: \"3\"\n  b: \"2\"\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n" +
			`      {"apiVersion":"v1","data":{"a":"3"},"kind":"ConfigMap","metadata":{"name":"x"}}`,
			[]string{`kubectl Apply {"f:data":{"f:a":{}}}`,
				`kubectl-client-side-apply Update {"f:data":{".":{},"f:b":{}},"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`}},
	},
	"lists of keyed items": {
		apply{manager: "one", object: "metadata: {ownerReferences: [{uid: b, name: b, kind: K, apiVersion: v1}]}"},
		apply{manager: "two", object: "metadata: {finalizers: [x/y]}"},
		apply{manager: "one", object: "metadata: {finalizers: [x/y, x/z]}"},
		expect{"metadata:\n  finalizers:\n  - x/y\n  - x/z",
			[]string{`two Apply {"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}}}`, `one Apply {"f:metadata":{"f:finalizers":{"v:\"x/y\"":{},"v:\"x/z\"":{}}}}`}},
	},
}

func TestTables(t *testing.T) {
	res := resource(t, "configmaps")
	_, schemas := builtIn()
	for name, operations := range tables {
		t.Run(name, func(t *testing.T) {
			h := &history{m: New(res, schemas, nil), res: res, now: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)}
			for i, o := range operations {
				if err := o.do(h); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
		})
	}
}

// TestTemplateManagedFields checks that the managedFields of a template are owned like its other fields,
// unlike those of the object.
func TestTemplateManagedFields(t *testing.T) {
	res := resource(t, "deployments")
	_, schemas := builtIn()
	obj := &appsv1.Deployment{}
	obj.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	obj.Spec.Template.ManagedFields = obj.ManagedFields
	m := New(res, schemas, nil)
	if err := m.Update(nil, obj, Write{Version: &res.Versions[0], Manager: "m", Now: time.Unix(0, 0)}); err != nil {
		t.Fatal(err)
	}
	const want = `"f:metadata":{"f:managedFields":{}}`
	if got := obj.ManagedFields[0].FieldsV1.GetRawString(); strings.Count(got, "managedFields") != 1 || !strings.Contains(got, want) {
		t.Errorf("got %s, want %s once", got, want)
	}
}

func TestManagerName(t *testing.T) {
	for _, c := range []struct{ manager, agent, want string }{
		{"m", "kubectl/1", "m"},
		{"", "kubectl/v1.36.0 (linux/amd64) kubernetes/abc", "kubectl"},
		{"", "", "unknown"},
		{"", "/1.0", "unknown"},
		{"", "\x00/1.0", "unknown"},
		{"", "a\x00b\u200bc d/1", "abc d"},
		{"", strings.Repeat("é", 100), strings.Repeat("é", 64)},
	} {
		if got := ManagerName(c.manager, c.agent); got != c.want {
			t.Errorf("ManagerName(%q, %q) = %q, want %q", c.manager, c.agent, got, c.want)
		}
	}
}

func TestApplyErrors(t *testing.T) {
	res := resource(t, "configmaps")
	_, schemas := builtIn()
	m := New(res, schemas, nil)
	for patch, want := range map[string]string{
		`{apiVersion: v1}`:                  "invalid object type: /v1, Kind=",
		`{}`:                                "invalid object type: /, Kind=",
		`{apiVersion: v2, kind: ConfigMap}`: "invalid object type: /v2, Kind=ConfigMap",
		`{apiVersion: v1, kind: ConfigMap, metadata: {managedFields: []}}`:            "metadata.managedFields must be nil",
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, bogus: 1}`:           "failed to create typed patch object (/cm; /v1, Kind=ConfigMap): .bogus: field not declared in schema",
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {num: 5}}`:     "failed to create typed patch object (/cm; /v1, Kind=ConfigMap): .data.num: expected string, got &value.valueUnstructured{Value:5}",
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, finalizers: [a, a]}}`: `failed to create typed patch object (/cm; /v1, Kind=ConfigMap): .metadata.finalizers: duplicate entries for key [="a"]`,
	} {
		var body map[string]any
		if err := yaml.Unmarshal([]byte(patch), &body); err != nil {
			t.Fatal(err)
		}
		_, err := m.Apply(nil, body, Write{Version: &res.Versions[0], Manager: "m"})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", patch, err, want)
		}
	}
}
