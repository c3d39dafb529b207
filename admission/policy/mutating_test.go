package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
)

// mutatingYAML returns a policy with a binding of the same name.
func mutatingYAML(name, spec string) string {
	return `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: ` + name + `}
spec:
  ` + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + `
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ` + name + `}
spec: {policyName: ` + name + `}`
}

func apply(expression string) string {
	return "reinvocationPolicy: Never\nmutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: \"" + expression + "\"}}]"
}

func patch(expression string) string {
	return "reinvocationPolicy: Never\nmutations: [{patchType: JSONPatch, jsonPatch: {expression: \"" + expression + "\"}}]"
}

// TestMutating checks the mutated object, or the rejection.
func TestMutating(t *testing.T) {
	const denied = "403 policy 'm' with binding 'm' denied request: "
	for _, tt := range []struct {
		name, spec, object string
		at                 string // path of the compared value in the object's JSON
		want               string
	}{
		{"a sidecar that is not there yet", anyPod + `
matchConditions: [{name: no-proxy, expression: "!object.spec.initContainers.exists(c, c.name == 'proxy')"}]
failurePolicy: Ignore
` + apply(`Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'proxy', image: 'proxy:1', restartPolicy: 'Always'}]}}`),
			"apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: prod}\nspec: {initContainers: [{name: first, image: a}], containers: [{name: a, image: b}]}",
			"spec.initContainers.name", `[first proxy]`},
		{"merged by name", anyPod + "\n" + apply(`Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', workingDir: '/w'}]}}`), pod("", ""), "spec.containers.workingDir", "[/w]"},
		{"defaults of what was added", anyPod + "\n" + apply(`Object{spec: Object.spec{containers: [Object.spec.containers{name: 'b', image: 'c'}]}}`), pod("", ""), "spec.containers.terminationMessagePath", "[/dev/termination-log /dev/termination-log]"},
		{"labels of the namespace", anyDeployment + "\n" + apply(`Object{metadata: Object.metadata{labels: {'env': namespaceObject.metadata.labels['environment']}}}`), deployment("{}"), "metadata.labels", `{"env":"prod"}`},
		{"wrong names of types", anyPod + "\n" + apply(`Object{spec: Object.sepc{hostNetwork: true}}`), pod("", ""), "", denied + `type mismatch: unexpected type name "Object.sepc", expected "Object.spec", which matches field name path from root Object type`},
		{"unknown field", anyPod + "\n" + apply(`Object{spec: Object.spec{nosuch: true}}`), pod("", ""), "", denied + "error applying patch: failed to convert patch object to typed object: .spec.nosuch: field not declared in schema"},
		{"atomic list", anyPod + "\n" + apply(`Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', command: ['x']}]}}`), pod("", ""), "", denied + "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].command"},
		{"error", anyPod + "\n" + apply(`Object{metadata: Object.metadata{labels: {'a': object.metadata.nosuch}}}`), pod("", ""), "", denied + "expression 'Object{metadata: Object.metadata{labels: {'a': object.metadata.nosuch}}}' resulted in error: no such key: nosuch"},
		{"error is ignored", anyPod + "\nfailurePolicy: Ignore\n" + apply(`Object{metadata: Object.metadata{labels: {'a': object.metadata.nosuch}}}`), pod("", ""), "metadata.name", `"web"`},
		{"patch", anyPod + "\n" + patch(`[JSONPatch{op: 'add', path: '/metadata/labels', value: {'x': 'y'}}, JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'c'}]`), pod("", ""), "metadata.labels", `{"a/b":"c","x":"y"}`},
		{"patch with objects", anyPod + "\n" + patch(`[JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{name: 'b', image: 'c'}}, JSONPatch{op: 'replace', path: '/spec/containers/0/image', value: 'z'}]`), pod("", ""), "spec.containers.image", "[z c]"},
		{"patch whose test fails", anyPod + "\n" + patch(`[JSONPatch{op: 'add', path: '/metadata/labels', value: {'x': 'y'}}, JSONPatch{op: 'test', path: '/metadata/name', value: 'other'}]`), pod("", ""), "metadata.labels", "null"},
		{"patch of what is not there", anyPod + "\n" + patch(`[JSONPatch{op: 'remove', path: '/spec/nosuch'}]`), pod("", ""), "", denied + "JSON Patch: error in remove for path: '/spec/nosuch': Unable to remove nonexistent key: nosuch: missing value"},
		{"patch with an unknown field", anyPod + "\n" + patch(`[JSONPatch{op: 'add', path: '/spec/nosuch', value: 1}]`), pod("", ""), "", `500 Internal error occurred: strict decoding error: unknown field "spec.nosuch"`},
		{"patch to an unknown kind", anyPod + "\n" + patch(`[JSONPatch{op: 'replace', path: '/kind', value: 'Nope'}]`), pod("", ""), "", `500 Internal error occurred: no kind "Nope" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"`},
		{"patch to another kind", anyDeployment + "\n" + patch(`[JSONPatch{op: 'replace', path: '/kind', value: 'ReplicaSet'}, JSONPatch{op: 'remove', path: '/spec'}]`), deployment("{}"), "", "500 Internal error occurred: failed to convert object: converting (v1.ReplicaSet) to (apps.Deployment): unknown conversion"},
		{"patch that removes the kind", anyPod + "\n" + patch(`[JSONPatch{op: 'remove', path: '/kind'}]`), pod("", ""), "metadata.name", `"web"`},
		{"patch with much in it", anyPod + "\n" + patch(`[lists.range(1000).map(j, 'xxxxxxxx').join()].map(t, lists.range(1000).map(i, JSONPatch{op: 'add', path: '/metadata/labels/x', value: t}))[0]`), pod("", ""), "", denied + "JSONPatchType.expression: the value is larger than 4718592 bytes"},
		{"object with much in it", anyPod + "\n" + apply(`[lists.range(1000).map(j, 'xxxxxxxx').join()].map(t, Object{spec: Object.spec{nosuch: lists.range(1000).map(j, t)}})[0]`), pod("", ""), "", denied + "error applying patch: the value is larger than 4718592 bytes"},
		{"numbers stay numbers", anyDeployment + "\n" + patch(`[JSONPatch{op: 'replace', path: '/spec/replicas', value: object.spec.replicas + 2}]`), deployment("{replicas: 3}"), "spec.replicas", "5"},
		{"one after the other", anyDeployment + "\nreinvocationPolicy: Never\nmutations:\n- {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{replicas: object.spec.replicas + 1}}'}}\n- {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"replace\", path: \"/spec/replicas\", value: object.spec.replicas * 10}]'}}", deployment("{replicas: 3}"), "spec.replicas", "40"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, mutatingYAML("m", tt.spec))
			a := c.write(t, "", tt.object, "")
			got := ""
			if err := c.mutator.mutate(t.Context(), a); err != nil {
				got = answer(t, err)
			} else {
				got = fieldsAt(t, a.Object, tt.at)
			}
			if got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// fieldsAt returns the JSON value at a path of names; for a list, the values of its items.
func fieldsAt(t testing.TB, obj api.Object, at string) string {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(v any, path []string) any
	walk = func(v any, path []string) any {
		switch v := v.(type) {
		case map[string]any:
			if len(path) > 0 {
				return walk(v[path[0]], path[1:])
			}
		case []any:
			var parts []string
			for _, item := range v {
				s, _ := walk(item, path).(string)
				parts = append(parts, s)
			}
			return json.RawMessage("[" + strings.Join(parts, " ") + "]")
		}
		return v
	}
	switch v := walk(v, strings.Split(at, ".")).(type) {
	case json.RawMessage:
		return string(v)
	default:
		out, _ := json.Marshal(v)
		return string(out)
	}
}

// TestReinvocation checks that a policy with reinvocationPolicy IfNeeded runs once more if another
// policy changed the object after it, and that other policies do not.
func TestReinvocation(t *testing.T) {
	count := func(name, again string) string {
		return mutatingYAML(name, anyPod+"\nreinvocationPolicy: "+again+"\nmutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: \"Object{metadata: Object.metadata{labels: {'"+name+"': object.metadata.?labels['"+name+"'].orValue('') + 'x'}}}\"}}]")
	}
	for _, tt := range []struct{ first, last, want string }{
		{"Never", "Never", `{"a":"x","b":"x"}`},
		{"IfNeeded", "Never", `{"a":"xx","b":"x"}`},
		{"IfNeeded", "IfNeeded", `{"a":"xx","b":"xx"}`},
	} {
		c := newCluster(t, count("a", tt.first)+"\n---\n"+count("b", tt.last))
		a := c.write(t, "", pod("", ""), "")
		for {
			if err := c.mutator.mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if !a.BeginReinvocation() {
				break
			}
		}
		if got := fieldsAt(t, a.Object, "metadata.labels"); got != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.first, tt.last, got, tt.want)
		}
	}
}

// BenchmarkMutating measures one matching policy that merges a label into a pod.
func BenchmarkMutating(b *testing.B) {
	c := newCluster(b, mutatingYAML("m", anyPod+"\n"+apply(`Object{metadata: Object.metadata{labels: {'a': 'b'}}}`)))
	a := c.write(b, "", pod("", ""), "")
	for b.Loop() {
		if err := c.mutator.mutate(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
