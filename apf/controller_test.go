package apf

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// controllerFixture is a store shared by the controllers of several servers.
type controllerFixture struct {
	t         *testing.T
	catalogue *api.Catalogue
	reg       *registry.Registry
	*Controller
}

func newControllerFixture(t *testing.T) *controllerFixture {
	t.Helper()
	k := &controllerFixture{t: t, catalogue: registrytest.Catalogue(t)}
	k.reg = registrytest.New(t, k.catalogue, registry.Options{Schemas: ssa.Published(k.catalogue)})
	k.Controller, _ = k.startController()
	return k
}

// startController starts the controller of another server and returns it with its log.
func (k *controllerFixture) startController() (*Controller, *Limiter) {
	k.t.Helper()
	l, err := New(Options{Seats: 600})
	if err != nil {
		k.t.Fatal(err)
	}
	keeper, err := NewController(ControllerConfig{Registry: k.reg, Catalogue: k.catalogue, Limiter: l})
	if err != nil {
		k.t.Fatal(err)
	}
	return keeper, l
}

func (k *controllerFixture) ensure() {
	k.t.Helper()
	k.revisions() // waits for the cache
	if err := k.Ensure(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
}

func (k *controllerFixture) get(t registry.Target, name string) api.Object {
	k.t.Helper()
	item, err := k.reg.Get(k.t.Context(), withName(t, name), storage.Read{})
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

func (k *controllerFixture) schema(name string) *flowcontrolv1.FlowSchema {
	s, _ := k.get(k.schemas, name).(*flowcontrolv1.FlowSchema)
	return s
}

// change updates an object as a user.
func (k *controllerFixture) change(t registry.Target, name string, f func(api.Object)) error {
	k.t.Helper()
	_, err := k.reg.Update(k.t.Context(), withName(t, name), func(_ context.Context, old api.Object) (api.Object, error) {
		f(old)
		return old, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: "user"}})
	return err
}

func (k *controllerFixture) remove(t registry.Target, name string) {
	k.t.Helper()
	if _, err := k.reg.Delete(k.t.Context(), withName(t, name), registry.DeleteOptions{}); err != nil {
		k.t.Fatal(err)
	}
}

// revisions returns the resource versions of all objects by name.
func (k *controllerFixture) revisions() map[string]string {
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

// TestEnsure runs Ensure on several servers at once. Missing objects are created, and
// correct ones are not written.
func TestEnsure(t *testing.T) {
	k := newControllerFixture(t)
	var wg sync.WaitGroup
	for range 3 {
		other, _ := k.startController()
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
	for _, w := range k.maintainedObjects() {
		obj := k.get(w.target, w.target.Name)
		if replaceSpec(obj.DeepCopyObject().(api.Object), w.object) || obj.GetAnnotations()[autoUpdate] != "true" || obj.GetGeneration() != 1 {
			t.Errorf("%s is %+v", w.target.Name, obj)
		}
		if f := obj.GetManagedFields(); len(f) != 1 || f[0].Manager != producerManager {
			t.Errorf("%s is owned by %+v", w.target.Name, f)
		}
	}
}

// TestWhoControls checks that the annotation decides who controls a suggested object, and
// without it, whether the spec was changed.
func TestWhoControls(t *testing.T) {
	const name = "service-accounts"
	for _, c := range []struct {
		title      string
		annotation string // "-" means none
		spec       bool   // the user changes the spec
		restored   bool
		then       string // the annotation after Ensure
	}{
		{"the servers", "true", true, true, "true"},
		{"the users", "false", true, false, "false"},
		{"the users, but unchanged", "false", false, false, "false"},
		{"unsaid, and changed", "-", true, false, "false"},
		{"unsaid, and as it was made", "-", false, true, "true"},
		{"nonsense, and changed", "perhaps", true, false, "false"},
	} {
		t.Run(c.title, func(t *testing.T) {
			k := newControllerFixture(t)
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
				t.Error("a correct object was written")
			}
		})
	}
}

func TestMaintenance(t *testing.T) {
	k := newControllerFixture(t)
	k.ensure()
	// Users cannot change mandatory specs, except for the shares of the exempt level.
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
	// Deleted objects are created again, and objects that an older server suggested are
	// deleted.
	k.remove(k.levels, "workload-low")
	k.remove(k.schemas, "catch-all")
	for name, annotations := range map[string]map[string]string{"old": {autoUpdate: "true"}, "own": nil, "kept": {autoUpdate: "false"}} {
		s := newFlowSchema(name, "system", 77, "", allRequestsRule(userSubject("x")))
		s.ObjectMeta = metav1.ObjectMeta{Name: name, Annotations: annotations}
		if _, err := k.reg.Create(t.Context(), withName(k.schemas, name), s, registry.WriteOptions{Manager: "user"}); err != nil {
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

// TestFollowing checks that two servers follow changes of the objects and agree on one
// status.
func TestFollowing(t *testing.T) {
	k := newControllerFixture(t)
	k.ensure()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var limiters []*Limiter
	for range 2 {
		keeper, l := k.startController()
		limiters = append(limiters, l)
		wg.Go(func() { keeper.Run(ctx) })
	}
	dangling := func(name, status, reason string) func() bool {
		return func() bool {
			c := k.schema(name).Status.Conditions
			return len(c) == 1 && string(c[0].Status) == status && c[0].Reason == reason
		}
	}
	schemas, levels := twoUserConfig(8, 5)
	s, level := schemas[0], levels[0]
	s.ObjectMeta, level.ObjectMeta = metav1.ObjectMeta{Name: s.Name}, metav1.ObjectMeta{Name: level.Name}
	user := registry.WriteOptions{Manager: "user"}
	if _, err := k.reg.Create(ctx, withName(k.schemas, s.Name), s, user); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the schema is said to dangle", dangling("people", "True", "NotFound"))
	classOf := func(l *Limiter) string { return l.current.Load().match(testUser("alice"), getRequest()).name }
	eventually.True(t, "both pass it over", func() bool {
		return classOf(limiters[0]) == "global-default" && classOf(limiters[1]) == "global-default"
	})
	if _, err := k.reg.Create(ctx, withName(k.levels, level.Name), level, user); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the level is found", dangling("people", "False", "Found"))
	eventually.True(t, "both go by it", func() bool { return classOf(limiters[0]) == "people" && classOf(limiters[1]) == "people" })
	if f := k.schema("people").ManagedFields; !slices.ContainsFunc(f, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == consumerManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "status"
	}) {
		t.Errorf("the status is owned by %+v", f)
	}
	k.remove(k.levels, "small")
	eventually.True(t, "it dangles again", dangling("people", "True", "NotFound"))
	k.remove(k.schemas, "people")
	eventually.True(t, "all others lead somewhere", func() bool {
		for _, w := range k.maintainedObjects() {
			if w.target.Resource == k.schemas.Resource && !dangling(w.target.Name, "False", "Found")() {
				return false
			}
		}
		return true
	})
	if k.schema("people") != nil {
		t.Error("a status update created the schema")
	}
}

func TestStatusIsNotWrittenForEver(t *testing.T) {
	w := statusWrites{}
	n := 0
	for range 20 {
		if w.allows("a", testStart) {
			n++
		}
	}
	if n != maxStatusWrites || !w.allows("b", testStart) || w.allows("a", testStart.Add(59e9)) || !w.allows("a", testStart.Add(61e9)) {
		t.Errorf("%d in a minute, %v", n, w)
	}
	w.forget(nil)
	if len(w) != 0 {
		t.Errorf("status writes of deleted schemas: %v", w)
	}
}

// TestUnsoundLevels checks that invalid levels are ignored.
func TestUnsoundLevels(t *testing.T) {
	sound1 := func() *flowcontrolv1.PriorityLevelConfiguration { return newQueuingLevel("level", 10, 0, 8, 2) }
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
		if validateLevel(p) == nil {
			t.Errorf("%s: considered valid", name)
		}
		l := newDefault(t, Options{})
		s := newFlowSchema("people", p.Name, 100, "", allRequestsRule(userSubject("alice")))
		l.Configure([]*flowcontrolv1.FlowSchema{s}, []*flowcontrolv1.PriorityLevelConfiguration{p})
		if class := l.current.Load().match(testUser("alice"), getRequest()); p.Name == "level" && class.name != flowcontrolv1.FlowSchemaNameCatchAll {
			t.Errorf("%s: alice is in %s", name, class.name)
		}
	}
	if err := validateLevel(sound1()); err != nil {
		t.Error(err)
	}
}
