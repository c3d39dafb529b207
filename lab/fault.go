package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// faults are the Faults as requests meet them. They follow the stored objects: a request that begins after the creation or the
// deletion of a Fault was answered sees it, or not.
type faults struct {
	state atomic.Pointer[faultState]
	mu    sync.Mutex // held while state is replaced
	attending
}

// faultState is the Faults of a state of their collection.
type faultState struct {
	of         any   // the state, of which it is made
	generation int64 // changes when the list does
	list       []*armedFault
}

// armedFault is a Fault that acts.
type armedFault struct {
	name, uid         string
	generation        int64 // of the first faultState that has it
	spec              v1alpha1.FaultSpec
	make              func(*armedFault, *request.Scope) *request.Fault
	view              *storage.View // of a stale fault; nil for others
	matched, injected atomic.Int64
	written           v1alpha1.FaultStatus // the counts in the stored object

	mu     sync.Mutex
	counts map[string]*faultCount // by what FaultWhen.Per counts
}

// faultCount counts the requests that matched, and those that were hit.
type faultCount struct {
	matched, injected int64
	random            *rand.Rand
}

// maxCounted is the maximum number of clients or objects that a Fault counts; others are not hit.
const maxCounted = 10000

// newFaults returns the resource of Faults.
func newFaults() *api.Resource {
	res := newKind[v1alpha1.Fault](api.Names{
		Name: resourceFaults, Singular: "fault", Kind: "Fault", Categories: []string{"lab"},
		Verbs: []string{api.VerbCreate, api.VerbDelete, api.VerbDeleteCollection, api.VerbGet, api.VerbList, api.VerbPatch,
			api.VerbUpdate, api.VerbWatch},
	}, nil, func(row *table.Row, obj api.Object) {
		row.Name(obj.GetName())
		inject := ""
		if f, err := faultOf(obj); err == nil {
			inject = injectionText(&f.Spec.Inject)
		}
		row.Text("Inject", "What happens to the requests.", inject)
		row.Text("Matched", "Number of requests that matched.", text(obj, "status", "matched"))
		row.Text("Injected", "Number of requests that were hit.", text(obj, "status", "injected"))
		row.Age(obj)
	})
	res.Checks = api.Checks(api.ObjectMeta, func(w *api.Write[api.Object]) {
		f, err := faultOf(w.Object)
		if err != nil {
			w.Add(field.Invalid(field.NewPath("spec"), "", err.Error()))
			return
		}
		w.Add(checkFault(&f.Spec, field.NewPath("spec"))...)
	})
	return res
}

// faultOf decodes a Fault, which may have no other fields than those of the kind.
func faultOf(obj api.Object) (*v1alpha1.Fault, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	f := &v1alpha1.Fault{}
	return f, d.Decode(f)
}

// For implements request.Faults.
func (l *Lab) For(r *http.Request, s *request.Scope) *request.Fault {
	state := l.faultState()
	if len(state.list) == 0 {
		return nil
	}
	resource := resourceOf(&s.Info)
	for _, f := range state.list {
		if f.matches(r, s, resource) {
			if fault := f.meet(r, s); fault != nil {
				return fault
			}
		}
	}
	return nil
}

// meet returns the fault of a request that matches; nil if it is not hit.
func (f *armedFault) meet(r *http.Request, s *request.Scope) *request.Fault {
	f.matched.Add(1)
	if !f.hits(r, s) {
		return nil
	}
	f.injected.Add(1)
	fault := f.make(f, s)
	fault.Name, fault.Since = f.name, time.Now()
	return fault
}

// faultState returns the Faults that exist now.
func (l *Lab) faultState() *faultState {
	now := l.connections.Registry.CacheState(l.faults)
	state := l.armed.state.Load()
	if state != nil && state.of == now {
		return state
	}
	l.armed.mu.Lock()
	defer l.armed.mu.Unlock()
	if state = l.armed.state.Load(); state != nil && state.of == now {
		return state
	}
	next := &faultState{of: now, generation: 1}
	var before []*armedFault
	if state != nil {
		next.generation, before = state.generation, state.list
	}
	for _, obj := range l.objectsOf(l.faults) {
		f, err := faultOf(obj)
		if err != nil {
			l.config.Logger.Error("a fault cannot be used", "fault", obj.GetName(), "error", err)
			continue
		}
		next.list = append(next.list, l.arm(f, before, next.generation+1))
	}
	if slices.Equal(before, next.list) {
		l.armed.state.Store(next)
		return next
	}
	next.generation++
	l.applyLags(next.list)
	l.armed.state.Store(next) // afterwards: who finds it relies on the lags
	for _, f := range before {
		if f.view != nil && !slices.Contains(next.list, f) {
			f.view.End()
		}
	}
	return next
}

// arm returns a Fault that acts: the one that did, if only its status differs, so that it goes on counting.
func (l *Lab) arm(f *v1alpha1.Fault, before []*armedFault, generation int64) *armedFault {
	for _, old := range before {
		if old.uid == string(f.UID) && reflect.DeepEqual(old.spec, f.Spec) {
			return old
		}
	}
	a := &armedFault{name: f.Name, uid: string(f.UID), generation: generation, spec: f.Spec, counts: map[string]*faultCount{}}
	if stale := a.spec.Inject.Stale; stale != nil {
		a.view = storage.NewView(parsed(stale.Age))
	}
	a.make = l.injection(&a.spec.Inject)
	return a
}

// matches reports whether a Fault matches a request for a resource with its group and subresource.
func (f *armedFault) matches(r *http.Request, s *request.Scope, resource string) bool {
	info := &s.Info
	switch {
	case f.spec.Inject.Lag != "":
		return false // it happens to the server, not to requests
	case f.spec.Inject.Watch != nil && !info.Watch:
		return false
	case f.spec.Inject.Shuffle != nil && !slices.Contains(shuffledVerbs(), info.Verb):
		return false
	case f.spec.Inject.Conflict != nil && (info.Verb != api.VerbUpdate && info.Verb != api.VerbPatch || info.Name == ""):
		return false
	}
	return matchesRequest(&f.spec.Match, r, info, resource) &&
		(len(f.spec.Match.Users) == 0 || matchesAny(f.spec.Match.Users, userName(s))) && (f.view == nil || mayBeLate(info))
}

// mayBeLate reports whether the protocol allows that the answer of a read is of the past, or that its events come late. A get or a list
// without a resourceVersion is consistent in kube-apiserver, too.
func mayBeLate(info *request.Info) bool {
	q := info.Query
	version, match := q.Get("resourceVersion"), q.Get("resourceVersionMatch")
	switch {
	case info.Watch:
		return true
	case info.Verb != api.VerbGet && info.Verb != api.VerbList:
		return false
	case match == string(metav1.ResourceVersionMatchExact), q.Get("continue") != "":
		return false
	case info.Verb == api.VerbList && q.Get("limit") != "" && match == "" && version != "0":
		return false // it means exactly
	}
	return version != ""
}

// hits reports whether a request that matches is hit, and counts it.
func (f *armedFault) hits(r *http.Request, s *request.Scope) bool {
	key := ""
	switch f.spec.When.Per {
	case v1alpha1.PerClient:
		key = userName(s) + "\x00" + r.UserAgent()
	case v1alpha1.PerObject:
		key = resourceOf(&s.Info) + "\x00" + s.Info.Namespace + "\x00" + s.Info.Name
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.counts[key]
	if c == nil {
		if len(f.counts) >= maxCounted {
			return false
		}
		c = &faultCount{random: rand.New(rand.NewPCG(uint64(f.spec.When.Seed), hashOf(key)))}
		f.counts[key] = c
	}
	w := &f.spec.When
	c.matched++
	if c.matched <= w.Skip || w.Times > 0 && c.injected >= w.Times {
		return false
	}
	if w.Percent > 0 && c.random.Int64N(100) >= w.Percent {
		return false
	}
	c.injected++
	return true
}

// hashOf returns a number that depends on a text alone.
func hashOf(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // never fails
	return h.Sum64()
}

// random returns a duration between two, that follows from the seed of the Fault and the number of requests that it has hit.
func (f *armedFault) random(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(f.source().Int64N(int64(to-from)+1))
}

// source returns a source of random numbers, which follow from the seed of the Fault and the number of requests that it has hit.
func (f *armedFault) source() *rand.Rand {
	return rand.New(rand.NewPCG(uint64(f.spec.When.Seed), uint64(f.injected.Load())))
}

// writeFaultCounts brings the status of Faults up to date.
func (l *Lab) writeFaultCounts() {
	state := l.armed.state.Load()
	if state == nil {
		return
	}
	for _, f := range state.list {
		now := v1alpha1.FaultStatus{Matched: f.matched.Load(), Injected: f.injected.Load()}
		if now == f.written {
			continue
		}
		t := registry.Target{Resource: l.faults, Version: &l.faults.Versions[0], Name: f.name}
		err := l.setStatus(t, f.uid, &now)
		if err != nil {
			l.config.Logger.Debug("the counts of a fault were not written", "fault", f.name, "error", err)
			continue
		}
		f.written = now
	}
}

// countsOf returns a Fault with the present counts, which a list has from the last second.
func (l *Lab) countsOf(_ context.Context, obj api.Object) (api.Object, error) {
	for _, f := range l.faultState().list {
		if f.uid == string(obj.GetUID()) {
			out := obj.DeepCopyObject().(*untyped.Object)
			out.Object["status"] = map[string]any{"matched": f.matched.Load(), "injected": f.injected.Load()}
			return out, nil
		}
	}
	return obj, nil
}

// injectionText describes an injection in a few words.
func injectionText(i *v1alpha1.FaultInjection) string {
	switch {
	case i.Error != nil:
		return fmt.Sprint("error ", i.Error.Code)
	case i.Delay != nil:
		return "delay " + i.Delay.Min
	case i.Lose != "":
		return "lose " + i.Lose
	case i.Conflict != nil:
		return "conflict"
	case i.Compact != nil:
		return "compact"
	case i.Watch != nil:
		return "watch"
	case i.Stale != nil:
		return "stale " + i.Stale.Age
	case i.Lag != "":
		return "lag " + i.Lag
	case i.Shuffle != nil:
		return "shuffle"
	}
	return ""
}
