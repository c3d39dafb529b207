package apf

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// kept is a store with the keepers of several servers.
type kept struct {
	t         *testing.T
	catalogue *api.Catalogue
	reg       *registry.Registry
	*Keeper
}

func newKept(t *testing.T) *kept {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	k := &kept{t: t}
	if k.catalogue, err = api.New(api.BuiltIn()...); err != nil {
		t.Fatal(err)
	}
	if k.reg, err = registry.New(store, k.catalogue, registry.Options{Schemas: ssa.Published(k.catalogue)}); err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.Keeper, _ = k.another()
	return k
}

// another is a server's keeper, and what it tells.
func (k *kept) another() (*Keeper, *Limiter) {
	k.t.Helper()
	l, err := New(Options{Seats: 600})
	if err != nil {
		k.t.Fatal(err)
	}
	keeper, err := NewKeeper(KeeperConfig{Registry: k.reg, Catalogue: k.catalogue, Limiter: l})
	if err != nil {
		k.t.Fatal(err)
	}
	return keeper, l
}

func (k *kept) ensure() {
	k.t.Helper()
	k.revisions() // which the cache has then seen
	if err := k.Ensure(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kept) get(t registry.Target, name string) api.Object {
	k.t.Helper()
	item, err := k.reg.Get(k.t.Context(), named(t, name), storage.Read{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		k.t.Fatal(err)
	}
	obj, err := item.Object()
	if err != nil {
		k.t.Fatal(err)
	}
	return obj
}

func (k *kept) schema(name string) *flowcontrolv1.FlowSchema {
	s, _ := k.get(k.schemas, name).(*flowcontrolv1.FlowSchema)
	return s
}

// change is what a user does to an object.
func (k *kept) change(t registry.Target, name string, f func(api.Object)) error {
	k.t.Helper()
	_, err := k.reg.Update(k.t.Context(), named(t, name), func(_ context.Context, old api.Object) (api.Object, error) {
		f(old)
		return old, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: "user"}})
	return err
}

func (k *kept) remove(t registry.Target, name string) {
	k.t.Helper()
	if _, err := k.reg.Delete(k.t.Context(), named(t, name), registry.DeleteOptions{}); err != nil {
		k.t.Fatal(err)
	}
}

// revisions are those of all objects, by name.
func (k *kept) revisions() map[string]string {
	k.t.Helper()
	all := map[string]string{}
	for _, t := range []registry.Target{k.levels, k.schemas} {
		list, err := k.reg.List(k.t.Context(), t, registry.ListOptions{})
		if err != nil {
			k.t.Fatal(err)
		}
		for _, i := range list.Items {
			all[t.Resource.Name+"/"+i.Key()] = fmt.Sprint(i.Revision())
		}
	}
	return all
}

// TestEnsure: what is missing is made, by several servers at once, and nothing
// is written where all is well.
func TestEnsure(t *testing.T) {
	k := newKept(t)
	var wg sync.WaitGroup
	for range 3 {
		other, _ := k.another()
		wg.Go(func() {
			if err := other.Bootstrap(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	before := k.revisions()
	k.ensure()
	if after := k.revisions(); len(after) != 8+11 || !maps.Equal(before, after) {
		t.Errorf("from %v to %v", before, after)
	}
	for _, w := range k.wanted() {
		obj := k.get(w.target, w.target.Name)
		if takeSpec(obj.DeepCopyObject().(api.Object), w.object) || obj.GetAnnotations()[autoUpdate] != "true" || obj.GetGeneration() != 1 {
			t.Errorf("%s is %+v", w.target.Name, obj)
		}
		if f := obj.GetManagedFields(); len(f) != 1 || f[0].Manager != producer {
			t.Errorf("%s is owned by %+v", w.target.Name, f)
		}
	}
}

// TestWhoControls: the annotation says who controls a suggested object, and
// without it whether somebody has changed the spec.
func TestWhoControls(t *testing.T) {
	const name = "service-accounts"
	for _, c := range []struct {
		title      string
		annotation string // "-": there is none
		spec       bool   // the user changes the spec
		restored   bool
		then       string // what the annotation is in the end
	}{
		{"the servers", "true", true, true, "true"},
		{"the users", "false", true, false, "false"},
		{"the users, but unchanged", "false", false, false, "false"},
		{"unsaid, and changed", "-", true, false, "false"},
		{"unsaid, and as it was made", "-", false, true, "true"},
		{"nonsense, and changed", "perhaps", true, false, "false"},
	} {
		t.Run(c.title, func(t *testing.T) {
			k := newKept(t)
			k.ensure()
			err := k.change(k.schemas, name, func(obj api.Object) {
				s := obj.(*flowcontrolv1.FlowSchema)
				if s.Annotations[autoUpdate] = c.annotation; c.annotation == "-" {
					s.Annotations = nil
				}
				if c.spec {
					s.Spec.MatchingPrecedence = 7
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			k.ensure()
			s := k.schema(name)
			if (s.Spec.MatchingPrecedence == 9000) != (c.restored || !c.spec) || s.Annotations[autoUpdate] != c.then {
				t.Errorf("precedence %d, annotation %q", s.Spec.MatchingPrecedence, s.Annotations[autoUpdate])
			}
			before := k.revisions()
			k.ensure()
			if !maps.Equal(before, k.revisions()) {
				t.Error("it is written again")
			}
		})
	}
}

func TestMaintenance(t *testing.T) {
	k := newKept(t)
	k.ensure()
	// Mandatory specs cannot be changed, but for the shares of the exempt.
	if err := k.change(k.schemas, "exempt", func(obj api.Object) { obj.(*flowcontrolv1.FlowSchema).Spec.MatchingPrecedence = 3 }); !apierrors.IsInvalid(err) {
		t.Errorf("exempt was changed: %v", err)
	}
	shares := int32(5)
	for _, change := range []func(api.Object){
		func(obj api.Object) {
			obj.(*flowcontrolv1.PriorityLevelConfiguration).Spec.Exempt.NominalConcurrencyShares = &shares
		},
		func(obj api.Object) { obj.SetAnnotations(map[string]string{autoUpdate: "false", "x": "y"}) },
	} {
		if err := k.change(k.levels, "exempt", change); err != nil {
			t.Fatal(err)
		}
	}
	// What is deleted comes back, and what an older server suggested goes.
	k.remove(k.levels, "workload-low")
	k.remove(k.schemas, "catch-all")
	for name, annotations := range map[string]map[string]string{"old": {autoUpdate: "true"}, "own": nil, "kept": {autoUpdate: "false"}} {
		s := schemaOf(name, "system", 77, "", everything(user("x")))
		s.ObjectMeta = metav1.ObjectMeta{Name: name, Annotations: annotations}
		if _, err := k.reg.Create(t.Context(), named(k.schemas, name), s, registry.WriteOptions{Manager: "user"}); err != nil {
			t.Fatal(err)
		}
	}
	k.ensure()
	for name, want := range map[string]bool{"catch-all": true, "old": false, "own": true, "kept": true} {
		if got := k.schema(name) != nil; got != want {
			t.Errorf("%s is there: %v", name, got)
		}
	}
	if k.get(k.levels, "workload-low") == nil {
		t.Error("workload-low did not come back")
	}
	exempt := k.get(k.levels, "exempt").(*flowcontrolv1.PriorityLevelConfiguration)
	if *exempt.Spec.Exempt.NominalConcurrencyShares != 5 || !equality.Semantic.DeepEqual(exempt.Annotations, map[string]string{autoUpdate: "true", "x": "y"}) {
		t.Errorf("exempt is %+v %v", exempt.Spec.Exempt, exempt.Annotations)
	}
}

// TestFollowing: two servers go by the same objects as they change, and one
// status comes of it that they do not quarrel about.
func TestFollowing(t *testing.T) {
	k := newKept(t)
	k.ensure()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var limiters []*Limiter
	for range 2 {
		keeper, l := k.another()
		limiters = append(limiters, l)
		wg.Go(func() { keeper.Run(ctx) })
	}
	dangling := func(name, status, reason string) func() bool {
		return func() bool {
			c := k.schema(name).Status.Conditions
			return len(c) == 1 && string(c[0].Status) == status && c[0].Reason == reason
		}
	}
	schemas, levels := one(8, 5)
	s, level := schemas[0], levels[0]
	s.ObjectMeta, level.ObjectMeta = metav1.ObjectMeta{Name: s.Name}, metav1.ObjectMeta{Name: level.Name}
	user := registry.WriteOptions{Manager: "user"}
	if _, err := k.reg.Create(ctx, named(k.schemas, s.Name), s, user); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the schema is said to dangle", dangling("people", "True", "NotFound"))
	classOf := func(l *Limiter) string { return l.current.Load().match(someone("alice"), aGet()).name }
	eventually(t, "both pass it over", func() bool {
		return classOf(limiters[0]) == "global-default" && classOf(limiters[1]) == "global-default"
	})
	if _, err := k.reg.Create(ctx, named(k.levels, level.Name), level, user); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the level is found", dangling("people", "False", "Found"))
	eventually(t, "both go by it", func() bool { return classOf(limiters[0]) == "people" && classOf(limiters[1]) == "people" })
	if f := k.schema("people").ManagedFields; !slices.ContainsFunc(f, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == consumer && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "status"
	}) {
		t.Errorf("the status is owned by %+v", f)
	}
	k.remove(k.levels, "small")
	eventually(t, "it dangles again", dangling("people", "True", "NotFound"))
	k.remove(k.schemas, "people")
	eventually(t, "all others lead somewhere", func() bool {
		for _, w := range k.wanted() {
			if w.target.Resource == k.schemas.Resource && !dangling(w.target.Name, "False", "Found")() {
				return false
			}
		}
		return true
	})
	if k.schema("people") != nil {
		t.Error("a status made the schema again")
	}
}

func TestStatusIsNotWrittenForEver(t *testing.T) {
	w := statusWrites{}
	n := 0
	for range 20 {
		if w.allows("a", beginning) {
			n++
		}
	}
	if n != mostStatusWrites || !w.allows("b", beginning) || w.allows("a", beginning.Add(59e9)) || !w.allows("a", beginning.Add(61e9)) {
		t.Errorf("%d in a minute, %v", n, w)
	}
	w.forget(nil)
	if len(w) != 0 {
		t.Errorf("remembers %v", w)
	}
}

// TestUnsoundLevels are as if they were not there.
func TestUnsoundLevels(t *testing.T) {
	sound1 := func() *flowcontrolv1.PriorityLevelConfiguration { return queued("level", 10, 0, 8, 2) }
	for name, spoil := range map[string]func(*flowcontrolv1.PriorityLevelConfiguration){
		"exempt by another name": func(p *flowcontrolv1.PriorityLevelConfiguration) {
			p.Spec = flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementExempt, Exempt: &flowcontrolv1.ExemptPriorityLevelConfiguration{}}
		},
		"limited by that name":  func(p *flowcontrolv1.PriorityLevelConfiguration) { p.Name = "exempt" },
		"no settings":           func(p *flowcontrolv1.PriorityLevelConfiguration) { p.Spec.Limited = nil },
		"rejects with queues":   func(p *flowcontrolv1.PriorityLevelConfiguration) { p.Spec.Limited.LimitResponse.Type = "Reject" },
		"queues without queues": func(p *flowcontrolv1.PriorityLevelConfiguration) { p.Spec.Limited.LimitResponse.Queuing = nil },
		"too large a hand":      func(p *flowcontrolv1.PriorityLevelConfiguration) { p.Spec.Limited.LimitResponse.Queuing.HandSize = 9 },
	} {
		p := sound1()
		spoil(p)
		if sound(p) == nil {
			t.Errorf("%s: nothing is wrong with it", name)
		}
		l := newDefault(t, Options{})
		s := schemaOf("people", p.Name, 100, "", everything(user("alice")))
		l.Configure([]*flowcontrolv1.FlowSchema{s}, []*flowcontrolv1.PriorityLevelConfiguration{p})
		if class := l.current.Load().match(someone("alice"), aGet()); p.Name == "level" && class.name != flowcontrolv1.FlowSchemaNameCatchAll {
			t.Errorf("%s: alice is in %s", name, class.name)
		}
	}
	if err := sound(sound1()); err != nil {
		t.Error(err)
	}
}
