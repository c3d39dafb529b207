package builtin

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestDeclaredRulesCompile checks that the declarative rules of all kinds in all versions can be
// compiled, with all gates disabled and enabled, and finds one error of them, so that they are
// applied at all.
func TestDeclaredRulesCompile(t *testing.T) {
	all := features.Gates{}
	for name := range features.Known() {
		all[name] = true
	}
	for _, gates := range []features.Gates{nil, all} {
		found := 0
		for _, r := range kindsOf("1.37", gates) {
			for i := range r.Versions {
				v := &r.Versions[i]
				obj, err := r.Decoded(v, r.NewOf(v))
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range append(r.CheckCreate(v, obj), r.CheckUpdate(v, obj, obj)...) {
					if err.Type == field.ErrorTypeInternal {
						t.Errorf("%s in %s: %v", r.Name, v, err)
					}
					if r.Name == "resourceslices" && err.Field == "spec.pool.name" && err.Type == field.ErrorTypeRequired && err.Detail == "" {
						found++
					}
				}
			}
		}
		if gates != nil && found == 0 {
			t.Error("no error of a declarative rule")
		}
	}
}
