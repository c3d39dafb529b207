package structural

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"pgregory.net/rapid"
)

// TestCombinedIsLibrary compares the faults of combinedValidator with those of the library.
func TestCombinedIsLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(drawSchema(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		var p props
		if err := json.Unmarshal(data, &p); err != nil {
			t.Skip(err)
		}
		schema, value := toOpenAPI(&p, Release{}.validatesFormat), drawValue(t, 3)
		want := validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(value)
		got := newLimitedValidator(schema, nil, "", strfmt.Default, nil).Validate(value)
		if got.MatchCount != want.MatchCount {
			t.Fatalf("match count %d, want %d", got.MatchCount, want.MatchCount)
		}
		for _, faults := range [][]error{want.Errors, got.Errors} {
			orderFaults(faults, "")
			orderForbidden(faults)
		}
		if len(got.Errors) != len(want.Errors) {
			t.Fatalf("%v\nwant %v", got.Errors, want.Errors)
		}
		for i := range want.Errors {
			if got.Errors[i].Error() != want.Errors[i].Error() {
				t.Fatalf("%v\nwant %v", got.Errors, want.Errors)
			}
		}
	})
}

// orderForbidden orders each run of faults that properties are forbidden: the library reports them
// in the random order of a map.
func orderForbidden(faults []error) {
	forbidden := func(err error) bool { return strings.HasSuffix(err.Error(), " is a forbidden property") }
	for len(faults) > 0 {
		n := 0
		for n < len(faults) && forbidden(faults[n]) {
			n++
		}
		slices.SortFunc(faults[:n], func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		faults = faults[max(n, 1):]
	}
}
