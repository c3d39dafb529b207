package structural

import (
	"context"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestCancelledValidation checks that a validation with many alternatives for many items ends with its
// request, on the fast path and in the library.
func TestCancelledValidation(t *testing.T) {
	alternative := apiextensionsv1.JSONSchemaProps{Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}}}
	item := apiextensionsv1.JSONSchemaProps{Type: "string", AnyOf: make([]apiextensionsv1.JSONSchemaProps, 1000)}
	for i := range item.AnyOf {
		item.AnyOf[i] = alternative
	}
	root := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"l": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}}}
	list := make([]any, 100)
	for i := range list {
		list[i] = "b"
	}
	ctx, cancel := context.WithCancel(t.Context())
	v := newValidator(&root, Release{}.validatesFormat)
	if errs := v.check(ctx, nil, map[string]any{"l": list}, nil); len(errs) != maxValueFaults && len(errs) < len(list) {
		t.Errorf("%d errors", len(errs))
	}
	cancel()
	errs := v.check(ctx, nil, map[string]any{"l": list}, nil)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), context.Canceled.Error()) {
		t.Errorf("after the request: %v", errs.ToAggregate())
	}
	e := &effort{ctx: ctx}
	if v.quick.accepts(map[string]any{"l": list}, e) || !errors.Is(e.ended(), context.Canceled) || e.parts > 2*len(item.AnyOf) {
		t.Errorf("the fast path took %d steps, %v", e.parts, e.ended())
	}
}

// TestCostlyPattern checks that a text is not matched with a pattern of so many instructions that the match
// would take long.
func TestCostlyPattern(t *testing.T) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = strings.Repeat("ab", 5) + strings.Repeat("c", i%7)
	}
	pattern := "^(" + strings.Join(names, "|") + "|(x?){1,900})*$"
	root := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"s": {Type: "string", Pattern: pattern}}}
	v := newValidator(&root, Release{}.validatesFormat)
	for length, want := range map[int]string{10: "", 1 << 20: "s in body is too long for its pattern: 1048576 bytes"} {
		errs := v.check(t.Context(), nil, map[string]any{"s": strings.Repeat("x", length)}, nil)
		got := ""
		if len(errs) > 0 {
			got = errs[0].Detail
		}
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("a text of %d bytes: %v", length, errs.ToAggregate())
		}
	}
}
