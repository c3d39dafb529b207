package attempts

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation/declarative"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// TestRulesAreStatedOnce checks that no rule written by hand reports what a declared rule reports
// always. The rules in beta have a rule by hand, for emulated releases that do not enforce them.
func TestRulesAreStatedOnce(t *testing.T) {
	c := startServer(t)
	gates, percent := features.Default(), share(t)
	gates["DeclarativeValidationBeta"] = false
	table := declarative.New(declarative.Config{Release: kubeversion.Binary(), Enabled: gates.Enabled})
	resources := map[schema.GroupKind]int{}
	all := kinds.For(gates)
	for i, r := range all {
		resources[schema.GroupKind{Group: r.Hub().Group, Kind: r.Kind}] = i
	}
	for _, k := range c.kinds() {
		r := all[resources[schema.GroupKind{Group: k.gv.Group, Kind: k.Kind}]]
		v := r.Version(schema.GroupVersion{Group: k.gv.Group, Version: k.gv.Version})
		if v == nil || r.Kind != k.Kind || v.FromHub != nil {
			continue // whose paths may be others than those of the rules by hand
		}
		program, err := table.Program(reflect.TypeOf(r.NewOf(v)))
		if err != nil {
			t.Fatal(err)
		}
		if program == nil {
			continue
		}
		random := seeded(k.String())
		for _, f := range k.fields() {
			for _, value := range append(append(f.Valid(), f.Off()...), Absent) {
				if random.IntN(100) >= percent {
					continue
				}
				obj, err := decode(r, v, f.Set(k.base, value))
				if err != nil {
					continue
				}
				old, err := decode(r, v, k.base)
				if err != nil {
					t.Fatal(err)
				}
				if r.Prepare != nil {
					r.Prepare(r.NewWrite(api.Attempt{}, old, nil))
				}
				stated := map[string]field.ErrorList{"create": byHand(r, r.Rules(), obj, nil), "update": byHand(r, r.Rules(), obj, old)}
				if r.Status != nil {
					stated["status"] = byHand(r, r.Status.WriteRules, obj, old)
				}
				for write, byHand := range stated {
					var stored any
					if write != "create" {
						stored = old
					}
					declared := program.Validate(obj, stored)
					if kept := declarative.Merge(byHand, declared, nil); len(kept) < len(byHand)+len(declared) {
						t.Errorf("%s of %s %s: by hand %v, declared %v", write, k, f, byHand, declared)
					}
				}
			}
		}
	}
}

// byHand returns the errors of the rules that are written by hand, without those of metadata: an own version has no
// declared rules.
func byHand(r *api.Resource, rules api.WriteRules, obj, old api.Object) field.ErrorList {
	own := &api.Version{FromHub: func(obj api.Object) (api.Object, error) { return obj, nil }}
	w := r.NewWrite(api.Attempt{Version: own}, obj, old)
	for _, check := range rules.Checks {
		check(w)
	}
	return slices.DeleteFunc(w.Errors, func(err *field.Error) bool { return strings.HasPrefix(err.Field, "metadata") })
}
