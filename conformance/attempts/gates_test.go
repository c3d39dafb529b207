package attempts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// gateObserver finds out which feature gates a field depends on: it prepares and validates an object
// with the kinds of a server that has all gates enabled, of a server that has no gate enabled, and of
// servers that have one gate more or less.
type gateObserver struct {
	t         *testing.T
	known     map[string]features.Gate
	names     []string // of the gates that can be changed
	on, off   map[schema.GroupVersionKind]*api.Resource
	less      map[string]map[schema.GroupVersionKind]*api.Resource // all gates but one
	more      map[string]map[schema.GroupVersionKind]*api.Resource // one gate alone
	isDefault features.Gates
}

// others are gates that are not listed with fields: the first two stand for others, and the rules in
// beta are listed as declared.
var others = []string{"AllAlpha", "AllBeta", "DeclarativeValidationBeta"}

func newGateObserver(t *testing.T) *gateObserver {
	g := &gateObserver{t: t, known: features.Known(kubeversion.Default()), isDefault: features.Default(),
		less: map[string]map[schema.GroupVersionKind]*api.Resource{}, more: map[string]map[schema.GroupVersionKind]*api.Resource{}}
	for _, name := range slices.Sorted(maps.Keys(g.known)) {
		if gate := g.known[name]; !gate.Locked && gate.Stage != "" && !slices.Contains(others, name) {
			g.names = append(g.names, name)
		}
	}
	g.on, g.off = g.kinds(true, ""), g.kinds(false, "")
	return g
}

// kinds returns the kinds of a server on which all gates have one state, and one gate the other.
func (g *gateObserver) kinds(enabled bool, except string) map[schema.GroupVersionKind]*api.Resource {
	gates := maps.Clone(g.isDefault)
	for _, name := range g.names {
		gates[name] = enabled != (name == except)
	}
	byKind := map[schema.GroupVersionKind]*api.Resource{}
	for _, r := range kinds.For(gates) {
		for _, v := range r.Versions {
			byKind[v.WithKind(r.Kind)] = r
		}
	}
	return byKind
}

func (g *gateObserver) without(gate string) map[schema.GroupVersionKind]*api.Resource {
	if g.less[gate] == nil {
		g.less[gate] = g.kinds(true, gate)
	}
	return g.less[gate]
}

func (g *gateObserver) only(gate string) map[schema.GroupVersionKind]*api.Resource {
	if g.more[gate] == nil {
		g.more[gate] = g.kinds(false, gate)
	}
	return g.more[gate]
}

// outcome is what a server makes of a value of a field.
type outcome struct {
	value  string
	faults string
}

// of describes the gates of a field.
func (g *gateObserver) of(k *kind, f Field, isStatus bool) (facts []string) {
	guards, rules := map[string]bool{}, map[string]bool{}
	compare := func(gate string, a, b outcome, object map[string]any, one, other map[schema.GroupVersionKind]*api.Resource) {
		switch {
		case a.value != b.value:
			guards[gate] = true
		case a.faults != b.faults:
			// The object without the field shows whether the fault is that of another field.
			without := f.Set(object, Absent)
			if g.outcome(one, k, f, without, isStatus) == g.outcome(other, k, f, without, isStatus) {
				rules[gate] = true
			}
		}
	}
	for _, value := range append(slices.Clone(f.Valid()), f.Off()...) {
		object := f.Set(k.base, value)
		on, off := g.outcome(g.on, k, f, object, isStatus), g.outcome(g.off, k, f, object, isStatus)
		if on == off {
			continue
		}
		for _, gate := range g.names {
			compare(gate, g.outcome(g.without(gate), k, f, object, isStatus), on, object, g.without(gate), g.on)
			compare(gate, g.outcome(g.only(gate), k, f, object, isStatus), off, object, g.only(gate), g.off)
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(guards)) {
		facts = append(facts, "gate "+g.describe(gate))
		delete(rules, gate)
	}
	for _, gate := range slices.Sorted(maps.Keys(rules)) {
		facts = append(facts, "rules depend on gate "+g.describe(gate))
	}
	return facts
}

// describe returns the name of a gate, its stage and its default.
func (g *gateObserver) describe(name string) string {
	state := "disabled"
	if g.isDefault.Enabled(name) {
		state = "enabled"
	}
	return fmt.Sprintf("%s (%s, %s)", name, g.known[name].Stage, state)
}

// outcome prepares and validates an object as a create or a write of the status does.
func (g *gateObserver) outcome(kinds map[schema.GroupVersionKind]*api.Resource, k *kind, f Field, object map[string]any, isStatus bool) outcome {
	r := kinds[schema.GroupVersionKind{Group: k.gv.Group, Version: k.gv.Version, Kind: k.Kind}]
	if r == nil {
		return outcome{faults: "not served"}
	}
	v := r.Version(schema.GroupVersion{Group: k.gv.Group, Version: k.gv.Version})
	obj, err := decode(r, v, object)
	if err != nil {
		return outcome{faults: err.Error()}
	}
	var faults error
	if isStatus {
		old, err := decode(r, v, k.base)
		if err != nil {
			return outcome{faults: err.Error()}
		}
		obj.SetResourceVersion("1")
		old.SetResourceVersion("1")
		w := r.NewWrite(api.Attempt{Version: v, Status: true}, obj, old)
		if r.Status.Prepare != nil {
			r.Status.Prepare(w)
		}
		r.Check(r.Status.WriteRules, w)
		faults = w.Errors.ToAggregate()
	} else {
		if r.Prepare != nil {
			r.Prepare(r.NewWrite(api.Attempt{Version: v}, obj, nil))
		}
		faults = r.CheckCreate(v, obj).ToAggregate()
	}
	out := outcome{}
	if faults != nil {
		out.faults = faults.Error()
	}
	if obj, err = r.As(v, obj); err != nil {
		g.t.Fatalf("%s: %v", k, err)
	}
	text, err := json.Marshal(obj)
	prepared := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &prepared)
	}
	if err != nil {
		g.t.Fatalf("%s: %v", k, err)
	}
	out.value = short(f.Get(prepared))
	return out
}

// decode returns an object in the hub version, with defaults.
func decode(r *api.Resource, v *api.Version, object map[string]any) (api.Object, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	obj := r.NewOf(v)
	if err := json.Unmarshal(text, obj); err != nil {
		return nil, err
	}
	return r.Decoded(v, obj)
}
