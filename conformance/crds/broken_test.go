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

// fault makes a valid object violate one rule of a schema.
type fault struct {
	// rule is the path in the schema and the violated rule.
	rule string
	// steps is the path of the value: names and indexes. The value is replaced by wrong, or removed
	// if wrong is nil.
	steps []any
	wrong any
	// cause is the expected rejection: the type of the cause and the field.
	cause string
}

// broken violates each rule of a project's definitions once in the accepted examples and expects
// rejections.
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
		for _, f := range faultsOf(schemas[e.GroupVersionKind()], content, fault{rule: e.GroupVersionKind().String()}) {
			if done[f.rule] {
				continue
			}
			done[f.rule] = true
			var api dynamic.ResourceInterface = c.dynamic.Resource(e.resource)
			if e.namespaced {
				api = c.dynamic.Resource(e.resource).Namespace(metav1.NamespaceDefault)
			}
			u := &unstructured.Unstructured{Object: f.in(e.DeepCopy().Object).(object)}
			u.SetNamespace("")
			u.SetResourceVersion("")
			_, err := api.Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationIgnore})
			if !apierrors.IsInvalid(err) || !slices.ContainsFunc(causesOf(err), func(cause string) bool { return strings.HasPrefix(cause, f.cause+": ") }) {
				t.Errorf("%v, which breaks %s, is not refused with %s: %v", e, f.rule, f.cause, err)
			}
		}
	}
	t.Logf("%d broken examples", len(done))
}

// in returns a value with the fault applied.
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

// faultsOf returns the possible faults of a value at the path at.
func faultsOf(s object, value any, at fault) []fault {
	var all []fault
	add := func(what, cause string, wrong any) {
		if len(at.steps) > 0 {
			all = append(all, fault{at.rule + " " + what, at.steps, wrong, cause + ": " + fieldAt(at.steps)})
		}
	}
	wrongOf(s, value, add)
	switch v := value.(type) {
	case object:
		properties, _ := s["properties"].(object)
		required, _ := s["required"].([]any)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			sub, ok := properties[name].(object)
			next := fault{rule: at.rule + "." + name, steps: append(slices.Clip(at.steps), name)}
			switch values, _ := s["additionalProperties"].(object); {
			case ok && slices.Contains(required, any(name)) && sub["default"] == nil:
				all = append(all, fault{next.rule + " required", next.steps, nil, "FieldValueRequired: " + fieldAt(next.steps)})
			case !ok && values != nil && !strings.ContainsAny(name, "./"):
				sub, next.rule = values, at.rule+".*"
			}
			if sub != nil && s["x-kubernetes-embedded-resource"] != true {
				all = append(all, faultsOf(sub, v[name], next)...)
			}
		}
	case []any:
		if items, ok := s["items"].(object); ok && len(v) > 0 {
			all = append(all, faultsOf(items, v[0], fault{rule: at.rule + "[]", steps: append(slices.Clip(at.steps), 0)})...)
		}
	}
	return all
}

// wrongOf returns the faults of a value for the rules of a schema.
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

// fieldAt returns the field of a cause for a path.
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
