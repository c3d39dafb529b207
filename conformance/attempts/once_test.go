package attempts

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/builtin"
	"github.com/miniapiserver/miniapiserver/api/validation/declarative"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestRulesAreStatedOnce checks that no rule written by hand reports what a declared rule reports
// always. The rules in beta have a rule by hand, for emulated releases that do not enforce them.
func TestRulesAreStatedOnce(t *testing.T) {
	c := startServer(t)
	gates, percent := features.Default(), share(t)
	gates["DeclarativeValidationBeta"] = false
	table := declarative.New(declarative.Config{Release: kubeversion.Binary(), Enabled: gates.Enabled})
	resources := map[schema.GroupKind]int{}
	all := builtin.KindsFor(gates)
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
				if r.Create.PrepareForCreate != nil {
					r.Create.PrepareForCreate(old)
				}
				stated := map[string]field.ErrorList{"create": append(apply(r.Create.Validate, obj), apply(r.Create.ValidateOnCreate, obj)...)}
				if r.Update.ValidateUpdate != nil {
					stated["update"] = r.Update.ValidateUpdate(obj, old)
				}
				if r.Status.ValidateUpdate != nil {
					stated["status"] = r.Status.ValidateUpdate(obj, old)
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

func apply(rules func(api.Object) field.ErrorList, obj api.Object) field.ErrorList {
	if rules == nil {
		return nil
	}
	return rules(obj)
}
