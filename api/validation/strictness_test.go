package validation

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestStrictness checks the table of the gates on which rules depend: the zero value has the defaults,
// and each gate can be changed alone.
func TestStrictness(t *testing.T) {
	defaults := features.Default()
	if s := StrictnessOf(defaults); s != (Strictness{}) {
		t.Errorf("the gates %b differ from their defaults", s.changed)
	}
	for i, gate := range ruleGates {
		changed := features.Default()
		changed[gate.name] = !changed[gate.name]
		StrictnessOf(changed).Check(func(at *Path) {
			for j, other := range ruleGates {
				if got := at.Child("spec").Index(0).Enabled(Gate(j)); got != (defaults[other.name] != (i == j)) {
					t.Errorf("with %s changed, %s is %t", gate.name, other.name, got)
				}
			}
		})
	}
}
