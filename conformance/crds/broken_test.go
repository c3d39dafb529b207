package crds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// fault breaks one thing that a schema says, of an object that keeps it.
type fault struct {
	// says is the place in the schema, and what is broken there.
	says string
	// steps lead to the value: names and indexes. Wrong is put in its place, or
	// it is taken away if wrong is nil.
	steps []any
	wrong any
	// cause is how it must be refused: the type of the cause and the field.
	cause string
}

// broken breaks what the definitions of a project say of the examples that are
// accepted, each thing once: all are refused for that.
func broken(t *testing.T, c clients, schemas map[schema.GroupVersionKind]object, accepted []example) {
	t.Helper()
	done := map[string]bool{}
	for _, e := range accepted {
		content := maps.Clone(e.Object)
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			delete(content, name)
		}
		if e.status {
			delete(content, "status")
		}
		for _, f := range faultsOf(schemas[e.GroupVersionKind()], content, fault{says: e.GroupVersionKind().String()}) {
			if done[f.says] {
				continue
			}
			done[f.says] = true
			var api dynamic.ResourceInterface = c.dynamic.Resource(e.resource)
			if e.namespaced {
				api = c.dynamic.Resource(e.resource).Namespace(metav1.NamespaceDefault)
			}
			u := &unstructured.Unstructured{Object: f.in(e.DeepCopy().Object).(object)}
			u.SetNamespace("")
			u.SetResourceVersion("")
			_, err := api.Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationIgnore})
			if !apierrors.IsInvalid(err) || !slices.ContainsFunc(causesOf(err), func(cause string) bool { return strings.HasPrefix(cause, f.cause+": ") }) {
				t.Errorf("%v, which breaks %s, is not refused with %s: %v", e, f.says, f.cause, err)
			}
		}
	}
	t.Logf("%d broken examples", len(done))
}

// in is a value with the fault in it.
func (f fault) in(value any) any {
	step, rest := f.steps[0], fault{steps: f.steps[1:], wrong: f.wrong}
	change := func(old any) any {
		if len(rest.steps) == 0 {
			return f.wrong
		}
		return rest.in(old)
	}
	switch v := value.(type) {
	case object:
		name := step.(string)
		if v[name] = change(v[name]); v[name] == nil {
			delete(v, name)
		}
	case []any:
		v[step.(int)] = change(v[step.(int)])
	}
	return value
}

// faultsOf are the faults that can be made of a value. What is at so far is where
// it stands.
func faultsOf(s object, value any, at fault) []fault {
	var all []fault
	add := func(what, cause string, wrong any) {
		if len(at.steps) > 0 {
			all = append(all, fault{at.says + " " + what, at.steps, wrong, cause + ": " + fieldAt(at.steps)})
		}
	}
	wrongOf(s, value, add)
	switch v := value.(type) {
	case object:
		properties, _ := s["properties"].(object)
		required, _ := s["required"].([]any)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			sub, ok := properties[name].(object)
			next := fault{says: at.says + "." + name, steps: append(slices.Clip(at.steps), name)}
			switch values, _ := s["additionalProperties"].(object); {
			case ok && slices.Contains(required, any(name)) && sub["default"] == nil:
				all = append(all, fault{next.says + " required", next.steps, nil, "FieldValueRequired: " + fieldAt(next.steps)})
			case !ok && values != nil && !strings.ContainsAny(name, "./"):
				sub, next.says = values, at.says+".*"
			}
			if sub != nil && s["x-kubernetes-embedded-resource"] != true {
				all = append(all, faultsOf(sub, v[name], next)...)
			}
		}
	case []any:
		if items, ok := s["items"].(object); ok && len(v) > 0 {
			all = append(all, faultsOf(items, v[0], fault{says: at.says + "[]", steps: append(slices.Clip(at.steps), 0)})...)
		}
	}
	return all
}

// wrongOf makes faults of a value, for what a schema says of it.
func wrongOf(s object, value any, add func(what, cause string, wrong any)) {
	const invalid = "FieldValueInvalid"
	switch s["type"] {
	case "object", "array":
		add("type", "FieldValueTypeInvalid", "text")
	case "string", "integer", "number", "boolean":
		add("type", "FieldValueTypeInvalid", []any{})
	}
	if _, ok := value.(string); ok && s["enum"] != nil {
		add("enum", "FieldValueNotSupported", "none of them")
	}
	limit := func(name string) int64 {
		n, _ := s[name].(float64)
		return int64(n)
	}
	if s["minimum"] != nil && s["type"] == "integer" {
		add("minimum", invalid, limit("minimum")-1)
	}
	if s["maximum"] != nil && s["type"] == "integer" {
		add("maximum", invalid, limit("maximum")+1)
	}
	if s["type"] == "string" && limit("minLength") > 0 {
		add("minLength", invalid, "")
	}
	if n := limit("maxLength"); s["type"] == "string" && n > 0 && n < 1<<16 {
		add("maxLength", "FieldValueTooLong", strings.Repeat("x", int(n)+1))
	}
	if s["type"] == "array" && limit("minItems") > 0 {
		add("minItems", invalid, []any{})
	}
	if list, ok := value.([]any); ok && len(list) > 0 && s["maxItems"] != nil && limit("maxItems") < 1000 {
		add("maxItems", "FieldValueTooMany", slices.Repeat(list[:1], int(limit("maxItems"))+1))
	}
}

// fieldAt is the path of a field in a cause.
func fieldAt(steps []any) string {
	var path strings.Builder
	for _, step := range steps {
		if i, ok := step.(int); ok {
			fmt.Fprintf(&path, "[%d]", i)
			continue
		}
		fmt.Fprintf(&path, ".%v", step)
	}
	return strings.TrimPrefix(path.String(), ".")
}
