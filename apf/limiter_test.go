package apf

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// twoUserConfig returns a configuration whose schema assigns alice and bob to a level with so
// many queues.
func twoUserConfig(queues, length int32) ([]*flowcontrolv1.FlowSchema, []*flowcontrolv1.PriorityLevelConfiguration) {
	level := newQueuingLevel("small", 1000, 0, queues, 1)
	level.UID = "level-uid"
	level.Spec.Limited.LimitResponse.Queuing.QueueLengthLimit = length
	borrows := int32(0)
	level.Spec.Limited.BorrowingLimitPercent = &borrows
	s := newFlowSchema("people", "small", 100, flowcontrolv1.FlowDistinguisherMethodByUserType, allRequestsRule(userSubject("alice"), userSubject("bob")))
	s.UID = "schema-uid"
	return []*flowcontrolv1.FlowSchema{s}, []*flowcontrolv1.PriorityLevelConfiguration{level}
}

// newSmallLimiter returns a limiter with one seat for the level of one.
func newSmallLimiter(t *testing.T, length int32) (*Limiter, *fakeClock) {
	clock := newFakeClock()
	l, err := New(Options{Seats: 1, Clock: clock, WaitLimit: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	l.Configure(twoUserConfig(1, length))
	return l, clock
}

// pendingBegin is a call of Begin in another goroutine.
type pendingBegin struct {
	ticket *Ticket
	ok     bool
	done   chan struct{}
}

func startBegin(ctx context.Context, l *Limiter, who string) *pendingBegin {
	b := &pendingBegin{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.ticket, b.ok = l.Begin(ctx, RequestDigest{User: testUser(who), Info: getRequest()})
	}()
	return b
}

// waitingIn returns the number of waiting requests of a level.
func waitingIn(l *Limiter, level string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.levels[level].set
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

func (l *Limiter) hasLevel(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.levels[name] != nil
}

// mustBegin calls Begin, which must not wait.
func mustBegin(t *testing.T, l *Limiter, who string) *Ticket {
	t.Helper()
	ticket, ok := l.Begin(t.Context(), RequestDigest{User: testUser(who), Info: getRequest()})
	if !ok {
		t.Fatalf("%s is rejected: %s", who, ticket.Reason)
	}
	return ticket
}

func TestWaitsForASeat(t *testing.T) {
	l, _ := newSmallLimiter(t, 5)
	first := mustBegin(t, l, "alice")
	second := startBegin(t.Context(), l, "bob")
	eventually.True(t, "bob waits", func() bool { return waitingIn(l, "small") == 1 })
	header := http.Header{}
	first.SetHeaders(header)
	if uid := header.Get("X-Kubernetes-Pf-Flowschema-Uid") + " " + header.Get("X-Kubernetes-Pf-Prioritylevel-Uid"); uid != "schema-uid level-uid" {
		t.Errorf("the class is %s", uid)
	}
	first.Done()
	first.Done() // has no effect
	<-second.done
	if !second.ok {
		t.Fatal("bob is rejected")
	}
	second.ticket.Done()
}

// TestNobodyWaitsTooLong checks the maximum wait: a quarter of the time until the deadline,
// or the server's limit without a deadline.
func TestNobodyWaitsTooLong(t *testing.T) {
	l, clock := newSmallLimiter(t, 5)
	seat := mustBegin(t, l, "alice")
	defer seat.Done()
	for _, c := range []struct {
		deadline time.Duration
		waits    time.Duration
	}{{0, 15 * time.Second}, {20 * time.Second, 5 * time.Second}, {time.Hour, time.Minute}} {
		ctx, cancel := t.Context(), func() {}
		if c.deadline > 0 { // on the fake clock
			ctx, cancel = deadlineAt(ctx, clock.Now().Add(c.deadline)), func() {}
		}
		b := startBegin(ctx, l, "bob")
		eventually.True(t, "bob waits", func() bool { return waitingIn(l, "small") == 1 })
		clock.advance(c.waits - time.Millisecond)
		select {
		case <-b.done:
			t.Fatalf("deadline in %v: gave up too soon", c.deadline)
		default:
		}
		clock.advance(time.Millisecond)
		<-b.done
		if b.ok || b.ticket.Reason != reasonTimeout || waitingIn(l, "small") != 0 {
			t.Errorf("deadline in %v: %v %s", c.deadline, b.ok, b.ticket.Reason)
		}
		cancel()
	}
}

// withDeadline is a context that has a deadline but does not end at it.
type withDeadline struct {
	context.Context
	at time.Time
}

func (c withDeadline) Deadline() (time.Time, bool) { return c.at, true }

func deadlineAt(ctx context.Context, at time.Time) context.Context { return withDeadline{ctx, at} }

func TestWhoLeavesWaitsNoMore(t *testing.T) {
	l, _ := newSmallLimiter(t, 5)
	seat := mustBegin(t, l, "alice")
	ctx, cancel := context.WithCancel(t.Context())
	gone, stays := startBegin(ctx, l, "bob"), startBegin(t.Context(), l, "bob")
	eventually.True(t, "both wait", func() bool { return waitingIn(l, "small") == 2 })
	cancel()
	<-gone.done
	if gone.ok || gone.ticket.Reason != reasonCanceled {
		t.Errorf("%v %s", gone.ok, gone.ticket.Reason)
	}
	seat.Done()
	<-stays.done
	if !stays.ok {
		t.Error("a request that kept waiting was rejected")
	}
	stays.ticket.Done()
}

// TestConfigurationChangesAtOnce changes the configuration while requests wait. More seats
// let them execute, fewer queues do not lose them, and a deleted level serves those it has.
func TestConfigurationChangesAtOnce(t *testing.T) {
	l, _ := newSmallLimiter(t, 10)
	l.total = 1
	seat := mustBegin(t, l, "alice")
	var waits []*pendingBegin
	for i := range 6 {
		waits = append(waits, startBegin(t.Context(), l, []string{"alice", "bob"}[i%2]))
	}
	eventually.True(t, "six wait", func() bool { return waitingIn(l, "small") == 6 })

	l.Configure(twoUserConfig(64, 3)) // other queues
	if n := waitingIn(l, "small"); n != 6 {
		t.Fatalf("%d still wait", n)
	}
	l.mu.Lock()
	l.total = 3 // as if more seats had been configured
	l.mu.Unlock()
	l.Configure(twoUserConfig(64, 3))
	eventually.True(t, "two more are let in", func() bool { return waitingIn(l, "small") == 4 })

	l.Configure(nil, nil) // deletes all
	if !l.hasLevel("small") {
		t.Fatal("the level was removed while requests wait in it")
	}
	var b strings.Builder
	if err := l.DumpPriorityLevels(&b); err != nil || !isQuiescing(b.String(), "small") {
		t.Errorf("%v\n%s", err, b.String())
	}
	caught := mustBegin(t, l, "bob")
	if caught.schema.name != flowcontrolv1.FlowSchemaNameCatchAll {
		t.Errorf("bob is in %s", caught.schema.name)
	}
	caught.Done()
	seat.Done()
	served := 0
	for served < len(waits) {
		for _, w := range waits {
			select {
			case <-w.done:
				if w.ticket != nil && !w.ticket.finished {
					if !w.ok {
						t.Fatal("a request was dropped")
					}
					w.ticket.Done()
					served++
				}
			default:
			}
		}
	}
	if l.hasLevel("small") {
		t.Error("the deleted and idle level was not removed")
	}
}

func isQuiescing(dump, level string) bool {
	for line := range strings.Lines(dump) {
		if cells := strings.Fields(line); cells[0] == level+"," {
			return cells[3] == "true,"
		}
	}
	return false
}

// TestComesBack creates a level again while it is quiescing; it must be the same level.
func TestComesBack(t *testing.T) {
	l, _ := newSmallLimiter(t, 10)
	seat := mustBegin(t, l, "alice")
	l.Configure(nil, nil)
	l.Configure(twoUserConfig(1, 10))
	b := startBegin(t.Context(), l, "bob")
	eventually.True(t, "bob waits for alice's seat", func() bool { return waitingIn(l, "small") == 1 })
	seat.Done()
	<-b.done
	b.ticket.Done()
	if !b.ok || !l.hasLevel("small") {
		t.Errorf("%v, and the level is there: %v", b.ok, l.hasLevel("small"))
	}
}

// TestChangesUnderLoad changes the configuration under load. All requests must be served,
// and none may execute in a removed level.
func TestChangesUnderLoad(t *testing.T) {
	l, err := New(Options{Seats: 3, WaitLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if i%2 == 0 {
				l.Configure(twoUserConfig(int32(1+i%7), 1000))
			} else {
				// Without a level for the users their requests would go to catch-all, which
				// rejects, so a level of another name takes them.
				schemas, levels := twoUserConfig(4, 1000)
				levels[0].Name, schemas[0].Spec.PriorityLevelConfiguration.Name = "other", "other"
				l.Configure(schemas, levels)
			}
		}
	}()
	var all []chan error
	for i := range 8 {
		failed := make(chan error, 1)
		all = append(all, failed)
		go func() {
			for range 300 {
				ticket, ok := l.Begin(t.Context(), RequestDigest{User: testUser([]string{"alice", "bob"}[i%2]), Info: getRequest()})
				if !ok && ticket.schema.name != flowcontrolv1.FlowSchemaNameCatchAll {
					failed <- fmt.Errorf("rejected: %s", ticket.Reason)
					return
				}
				if ok {
					ticket.Done()
				}
			}
			failed <- nil
		}()
	}
	for _, failed := range all {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-changed
	l.removeIdleLevels()
	for _, v := range l.sortedLevels() {
		if !v.set.idle() || len(v.set.active) != 0 || v.set.seatsInUse != 0 {
			t.Errorf("%s: %d execute and %d wait", v.name, v.set.executing, v.set.waiting)
		}
	}
}

// TestFinalSeats checks that a write which notifies many watchers keeps seats after its
// response.
func TestFinalSeats(t *testing.T) {
	l, clock := newSmallLimiter(t, 5)
	for range 100 {
		defer l.CountWatch(&request.Info{Resource: "pods", Verb: "watch", Watch: true}, WatchSelection{})()
	}
	info := getRequest()
	info.Verb = "update"
	ticket, ok := l.Begin(t.Context(), RequestDigest{User: testUser("alice"), Info: info})
	if !ok || ticket.width != (Width{1, 1, 50 * time.Millisecond}) { // the level allows one request only one seat
		t.Fatalf("%v %+v", ok, ticket.width)
	}
	ticket.Done()
	b := startBegin(t.Context(), l, "bob")
	eventually.True(t, "bob waits", func() bool { return waitingIn(l, "small") == 1 })
	clock.advance(50 * time.Millisecond)
	<-b.done
	if !b.ok {
		t.Error("bob is rejected")
	}
	b.ticket.Done()
}

func TestNoSeats(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a limiter without seats was created")
	}
}
