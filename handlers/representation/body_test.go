package representation

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/patch/jsonpatch"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// TestResultBounds checks that a JSON patch within the bounds is rejected if its result exceeds
// them.
func TestResultBounds(t *testing.T) {
	p, err := jsonpatch.Decode([]byte(`[{"op":"add","path":"/a/a/a/a/a/a/a/a/a/a","value":` + nested(bounds.MaxDepth-5) + `}]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), []byte(nested(10)), bounds.MaxBody); err == nil || !strings.Contains(err.Error(), "max depth") {
		t.Error(err)
	}
	if err := checkResult([]byte(nested(bounds.MaxDepth+1)), bounds.MaxObject); err == nil {
		t.Error("the result of a patch is not checked")
	}
}

// TestRecursiveTypes checks which types contain themselves, so that their depth is checked in JSON.
func TestRecursiveTypes(t *testing.T) {
	var recursive []string
	for _, res := range kinds.All() {
		for _, v := range res.Versions {
			of := res.New
			if v.New != nil {
				of = v.New
			}
			rt := reflect.TypeOf(of()).Elem()
			if newRawJSONChecker(rt).recursive && !slices.Contains(recursive, rt.String()) {
				recursive = append(recursive, rt.String())
			}
		}
	}
	if !slices.Equal(recursive, []string{"v1.CustomResourceDefinition", "v1beta1.CustomResourceDefinition", "v1beta1.Workload", "v1alpha3.Workload"}) {
		t.Errorf("recursive types: %v", recursive)
	}
}

// nested returns nested JSON objects.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels)
}
