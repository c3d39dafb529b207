package ssa

import (
	"slices"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// TestStatusResetsWhatItKeeps checks for each kind that an apply to the status owns a label if and
// only if such a write changes labels.
func TestStatusResetsWhatItKeeps(t *testing.T) {
	for _, res := range kinds.All() {
		if res.Status == nil {
			continue
		}
		old, obj := res.New(), res.New()
		obj.SetLabels(map[string]string{"a": "b"})
		if res.Status.Prepare != nil {
			res.Status.Prepare(res.NewWrite(api.Attempt{Status: true}, obj, old))
		}
		resets := ResetsOf(res)["status"]
		owns := !slices.Contains(resets, "metadata") && !slices.Contains(resets, "metadata.labels")
		if changes := len(obj.GetLabels()) > 0; changes != owns {
			t.Errorf("%s: a write to the status changes labels: %t, an apply to it owns labels: %t", res.Name, changes, owns)
		}
	}
}
