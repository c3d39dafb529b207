package lab

import (
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/request"
)

// attend begins a watch, and returns its Running and what ends it.
func (l *testLab) attend(agent string) (running *request.Running, begins *request.Fault, leave func()) {
	r := httptest.NewRequest("GET", "/api/v1/namespaces/shop/configmaps?watch=1", nil)
	r.Header.Set("User-Agent", agent)
	running, _, cancel := request.NewRunning(r.Context())
	s := &request.Scope{User: &request.User{Name: "jane"}, Running: running, Info: request.Parse(r)}
	begins, left := l.Attend(r, s)
	return running, begins, func() { left(); cancel() }
}

// faultsOn returns the number of faults that act on a request.
func faultsOn(r *request.Running) (n int) {
	faults, _ := r.Faults()
	return len(faults)
}

// TestAttend checks which Faults a watch meets: one when it begins, and each of those that come and go while it runs.
func TestAttend(t *testing.T) {
	l := startLab(t, 0)
	inject := func(f Fault) (remove func()) {
		t.Helper()
		remove, err := l.Inject(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return remove
	}
	calm := inject(Fault{Match: Match{UserAgents: []string{"a/*"}}, Inject: FreezeWatch(time.Hour)})
	a, begins, leave := l.attend("a/1")
	defer leave()
	b, _, leaveB := l.attend("b/1")
	if begins == nil || begins.Watch.Freeze != time.Hour || faultsOn(a) != 1 || faultsOn(b) != 0 {
		t.Fatalf("at the beginning: %+v, %d and %d faults", begins, faultsOn(a), faultsOn(b))
	}
	also := inject(Fault{Inject: DelayWatch(time.Second)})
	inject(Fault{Inject: Error(429)}) // only for requests that begin
	inject(Fault{Inject: Delay(time.Second, time.Second)})
	inject(Fault{Match: Match{Verbs: []string{"list"}}, Inject: Lose(TheRequest)})
	if faultsOn(a) != 2 || faultsOn(b) != 1 {
		t.Errorf("while they run: %d and %d faults", faultsOn(a), faultsOn(b))
	}
	calm()
	if faultsOn(a) != 1 || faultsOn(b) != 1 {
		t.Errorf("after one is gone: %d and %d faults", faultsOn(a), faultsOn(b))
	}
	also()
	inject(Fault{When: When{Times: 1}, Inject: ExpireWatch()})
	if a.EndedBy() == nil || b.EndedBy() != nil {
		t.Errorf("the first watch is ended by %v, the second by %v", a.EndedBy(), b.EndedBy())
	}
	leaveB()
	inject(Fault{Inject: CloseWatch(0)})
	if b.EndedBy() != nil {
		t.Error("a request that has ended met a fault")
	}
}

// TestAttendConcurrently checks that a watch that begins while Faults come and go has those that are left, and no others.
func TestAttendConcurrently(t *testing.T) {
	l := startLab(t, 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				remove, err := l.Inject(t.Context(), Fault{Inject: DelayWatch(time.Second)})
				if err != nil {
					t.Error(err)
					return
				}
				remove()
			}
		})
	}
	running := make([]*request.Running, 200)
	for i := range running {
		r, _, leave := l.attend("a/1")
		defer leave()
		running[i] = r
	}
	wg.Wait()
	if _, err := l.Inject(t.Context(), Fault{Inject: NoBookmarks()}); err != nil {
		t.Fatal(err)
	}
	for i, r := range running {
		eventually.True(t, "the faults of a watch", func() bool { return faultsOn(r) == 1 })
		if faults, _ := r.Faults(); !faults[0].Watch.NoBookmarks {
			t.Errorf("watch %d has a fault that is gone", i)
		}
	}
}
