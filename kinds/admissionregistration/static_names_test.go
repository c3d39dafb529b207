package admissionregistration_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/admissionregistration"
)

// TestNamesInManifests checks that only objects in files may have the names that are reserved for them.
func TestNamesInManifests(t *testing.T) {
	inFiles := admissionregistration.ManifestKinds(features.Default(), expression.Library{})
	for i, r := range admissionregistration.Kinds(features.Default(), expression.Library{}) {
		obj := r.New()
		obj.SetName("a.static.k8s.io")
		for _, c := range []struct {
			errors   error
			reserved bool
		}{
			{r.CheckCreate(&r.Versions[0], obj).ToAggregate(), true},
			{inFiles[i].CheckCreate(&r.Versions[0], obj).ToAggregate(), false},
		} {
			const reserved = "reserved for static manifest-based configurations"
			if got := c.errors != nil && strings.Contains(c.errors.Error(), reserved); got != c.reserved {
				t.Errorf("%s: the name is reserved: %v, want %v", r.Name, got, c.reserved)
			}
		}
	}
}
