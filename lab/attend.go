package lab

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// attending are the long-running requests, which Faults meet when they come and leave when they go.
type attending struct {
	runningMu sync.Mutex
	running   map[*attended]struct{}
	attended  int64 // number of long-running requests so far

	meetingMu sync.Mutex
	met       int64 // generation of the Faults that all running requests have met
}

// attended is a long-running request.
type attended struct {
	r        *http.Request
	s        *request.Scope
	resource string
	number   int64 // in their order

	mu         sync.Mutex
	generation int64         // of the Faults that it has met
	by         []*armedFault // the Faults that act on it
	faults     []*request.Fault
}

// Attend implements request.Faults.
func (l *Lab) Attend(r *http.Request, s *request.Scope) (fault *request.Fault, leave func()) {
	a := &attended{r: r, s: s, resource: resourceOf(&s.Info)}
	l.armed.runningMu.Lock()
	if l.armed.running == nil {
		l.armed.running = map[*attended]struct{}{}
	}
	l.armed.running[a] = struct{}{}
	l.armed.attended++
	a.number = l.armed.attended
	l.armed.runningMu.Unlock()
	return a.begin(l), func() {
		l.armed.runningMu.Lock()
		defer l.armed.runningMu.Unlock()
		delete(l.armed.running, a)
	}
}

// followFaults has running requests meet the Faults that change, until ctx is done.
func (l *Lab) followFaults(ctx context.Context) *registry.Follower {
	t := registry.Target{Resource: l.faults, Version: &l.faults.Versions[0]}
	o := registry.WatchOptions{WatchOptions: storage.WatchOptions{Read: storage.Read{Match: storage.Any}}}
	return l.connections.Registry.Follow(ctx, l.config.Logger, t, o, l.meetRunning, func([]storage.Event) { l.meetRunning() })
}

// meetRunning has all running requests meet the present Faults.
func (l *Lab) meetRunning() {
	l.armed.meetingMu.Lock()
	defer l.armed.meetingMu.Unlock()
	state := l.faultState()
	if state.generation == l.armed.met { // only counts have changed
		return
	}
	l.armed.met = state.generation
	l.armed.runningMu.Lock()
	all := make([]*attended, 0, len(l.armed.running))
	for a := range l.armed.running {
		all = append(all, a)
	}
	l.armed.runningMu.Unlock()
	slices.SortFunc(all, func(a, b *attended) int { return cmp.Compare(a.number, b.number) }) // the same requests are hit each time
	for _, a := range all {
		a.meet(state)
	}
}

// begin returns the fault of a request that begins: that of the first Fault that hits it.
func (a *attended) begin(l *Lab) *request.Fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	state := l.faultState()
	a.generation = state.generation
	for _, f := range state.list {
		if !f.matches(a.r, a.s, a.resource) {
			continue
		}
		fault := f.meet(a.r, a.s)
		if fault == nil {
			continue
		}
		if fault.Watch != nil || fault.View != nil {
			a.by, a.faults = append(a.by, f), append(a.faults, fault)
			a.s.Running.Meet(a.faults)
		}
		return fault
	}
	return nil
}

// meet has a running request meet the Faults that came since the last call, and leave those that went.
func (a *attended) meet(state *faultState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.generation == 0 || a.generation >= state.generation { // 0 before begin, which will read a later state
		return
	}
	var by []*armedFault
	var faults []*request.Fault
	for i, f := range a.by {
		if slices.Contains(state.list, f) {
			by, faults = append(by, f), append(faults, a.faults[i])
		}
	}
	for _, f := range state.list {
		if f.generation <= a.generation || !f.actsOnRunning() || !f.matches(a.r, a.s, a.resource) {
			continue
		}
		if fault := f.meet(a.r, a.s); fault != nil {
			by, faults = append(by, f), append(faults, fault)
			if fault.EndsAtOnce() {
				break
			}
		}
	}
	a.generation = state.generation
	if !slices.Equal(by, a.by) {
		a.by, a.faults = by, faults
		a.s.Running.Meet(faults)
	}
}

// actsOnRunning reports whether the injection can happen to a request that runs.
func (f *armedFault) actsOnRunning() bool {
	i := &f.spec.Inject
	return i.Lose != "" || i.Watch != nil || i.Stale != nil ||
		i.Error != nil && (i.Error.Code >= http.StatusInternalServerError || i.Error.Code == http.StatusGone)
}

// checkLag returns the errors of a Fault that has the server lag. It happens to no request, so that nothing of requests may be set.
func checkLag(s *v1alpha1.FaultSpec, at *field.Path) (errs field.ErrorList) {
	const why = "must not be set with inject.lag, which happens to the server and to no request; match.resources says what it sees late"
	m := &s.Match
	for name, list := range map[string][]string{"users": m.Users, "userAgents": m.UserAgents, "verbs": m.Verbs, "namespaces": m.Namespaces,
		"names": m.Names, "servers": m.Servers} {
		if len(list) > 0 {
			errs = append(errs, field.Forbidden(at.Child("match", name), why))
		}
	}
	w := s.When
	if w.Seed = 0; w != (v1alpha1.FaultWhen{}) {
		errs = append(errs, field.Forbidden(at.Child("when"), why))
	}
	return errs
}

// applyLags has the server follow the resources of Faults so much later as they say: as the latest of them.
func (l *Lab) applyLags(list []*armedFault) {
	var lags []*armedFault
	for _, f := range list {
		if f.spec.Inject.Lag != "" {
			lags = append(lags, f)
		}
	}
	if len(lags) == 0 {
		l.connections.Registry.SetLag(nil)
		return
	}
	l.connections.Registry.SetLag(func(gr schema.GroupResource) (lag time.Duration) {
		if gr.Group == v1alpha1.GroupVersion.Group {
			return 0 // the Faults themselves act at once
		}
		resource := gr.Resource
		if gr.Group != "" {
			resource += "." + gr.Group
		}
		for _, f := range lags {
			if matchesAny(f.spec.Match.Resources, resource) {
				lag = max(lag, parsed(f.spec.Inject.Lag))
			}
		}
		return lag
	})
}
