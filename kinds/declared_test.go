package kinds

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestDeclaredRulesCompile checks that the declarative rules of all kinds in all versions can be
// compiled, with all gates disabled and enabled, and finds one error of them, so that they are
// applied at all.
func TestDeclaredRulesCompile(t *testing.T) {
	all := features.Gates{}
	for name := range features.Known(kubeversion.Default()) {
		all[name] = true
	}
	for _, gates := range []features.Gates{nil, all} {
		found := 0
		for _, r := range kindsOf(kubeversion.Binary(), gates, expression.Library{}, structural.Release{}, time.Now) {
			for i := range r.Versions {
				v := &r.Versions[i]
				obj, err := r.Decoded(v, r.NewOf(v))
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range append(r.CheckCreate(v, obj), checkUpdate(r, v, obj, obj)...) {
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

// TestDistinctErrors checks that overlapping rules of metadata report an error once.
func TestDistinctErrors(t *testing.T) {
	for _, r := range All() {
		if r.Name != "configmaps" {
			continue
		}
		obj, old := r.New(), r.New()
		for uid, o := range map[types.UID]api.Object{"1": obj, "2": old} {
			o.SetName("a")
			o.SetNamespace("n")
			o.SetResourceVersion("7")
			o.SetUID(uid)
		}
		const want = `metadata.uid: Invalid value: "1": field is immutable`
		if errs := checkUpdate(r, &r.Versions[0], obj, old); len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("got %v, want %s", errs, want)
		}
		return
	}
	t.Error("no configmaps")
}
