package openapi

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapiserver/miniapiserver/internal/schematest"
)

// TestExamplesAreValid checks that every object that kube-apiserver listed is valid according to
// the schema of its kind.
func TestExamplesAreValid(t *testing.T) {
	var lists map[string]list
	loadTestdata(t, "objects.json.gz", &lists)
	defs, named := open(t), models(lists)
	count := 0
	for _, path := range slices.Sorted(maps.Keys(named)) {
		closure, err := defs.Closure(named[path])
		if err != nil {
			t.Fatal(err)
		}
		schemas := map[string]*spec.Schema{}
		for _, d := range closure {
			if schemas[d.Name], err = d.Schema(); err != nil {
				t.Fatal(err)
			}
		}
		v := schematest.New(schemas, named[path])
		for _, item := range lists[path].Items {
			count++
			if err := v.Validate(item); err != nil {
				t.Errorf("%s: %v\n%v", path, err, item)
			}
		}
		// The validator does reject invalid objects.
		if v.Validate(map[string]any{"metadata": "nothing"}) == nil {
			t.Errorf("%s: an invalid object is accepted", path)
		}
	}
	if count < 100 {
		t.Errorf("only %d examples", count)
	}
}
