package apf

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// one is a configuration in which a schema sends alice and bob to a level of so
// many queues; masters are exempt, and others are caught.
func one(queues, length int32) ([]*flowcontrolv1.FlowSchema, []*flowcontrolv1.PriorityLevelConfiguration) {
	level := queued("small", 1000, 0, queues, 1)
	level.UID = "level-uid"
	level.Spec.Limited.LimitResponse.Queuing.QueueLengthLimit = length
	borrows := int32(0)
	level.Spec.Limited.BorrowingLimitPercent = &borrows
	s := schemaOf("people", "small", 100, flowcontrolv1.FlowDistinguisherMethodByUserType, everything(user("alice"), user("bob")))
	s.UID = "schema-uid"
	return []*flowcontrolv1.FlowSchema{s}, []*flowcontrolv1.PriorityLevelConfiguration{level}
}

// small is a limiter with one seat for the people of one.
func small(t *testing.T, length int32) (*Limiter, *fakeClock) {
	clock := newFakeClock()
	l, err := New(Options{Seats: 1, Clock: clock, WaitLimit: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	l.Configure(one(1, length))
	return l, clock
}

// begun is a Begin that runs beside the test.
type begun struct {
	ticket *Ticket
	ok     bool
	done   chan struct{}
}

func begin(ctx context.Context, l *Limiter, who string) *begun {
	b := &begun{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.ticket, b.ok = l.Begin(ctx, Ask{User: someone(who), Info: aGet()})
	}()
	return b
}

// waitingIn is how many wait in a level.
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

// begins takes a seat at once.
func begins(t *testing.T, l *Limiter, who string) *Ticket {
	t.Helper()
	ticket, ok := l.Begin(t.Context(), Ask{User: someone(who), Info: aGet()})
	if !ok {
		t.Fatalf("%s is rejected: %s", who, ticket.Reason)
	}
	return ticket
}

func TestWaitsForASeat(t *testing.T) {
	l, _ := small(t, 5)
	first := begins(t, l, "alice")
	second := begin(t.Context(), l, "bob")
	eventually(t, "bob waits", func() bool { return waitingIn(l, "small") == 1 })
	if uid := first.FlowSchemaUID()[0] + " " + first.PriorityLevelUID()[0]; uid != "schema-uid level-uid" {
		t.Errorf("the class is %s", uid)
	}
	first.Done()
	first.Done() // does no harm
	<-second.done
	if !second.ok {
		t.Fatal("bob is rejected")
	}
	second.ticket.Done()
}

// TestNobodyWaitsTooLong: a quarter of the time until the deadline, and what the
// server says where there is none.
func TestNobodyWaitsTooLong(t *testing.T) {
	l, clock := small(t, 5)
	seat := begins(t, l, "alice")
	defer seat.Done()
	for _, c := range []struct {
		deadline time.Duration
		waits    time.Duration
	}{{0, 15 * time.Second}, {20 * time.Second, 5 * time.Second}, {time.Hour, time.Minute}} {
		ctx, cancel := t.Context(), func() {}
		if c.deadline > 0 { // on the test's clock, which the real one does not reach
			ctx, cancel = deadlineAt(ctx, clock.Now().Add(c.deadline)), func() {}
		}
		b := begin(ctx, l, "bob")
		eventually(t, "bob waits", func() bool { return waitingIn(l, "small") == 1 })
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

// withDeadline is a context that only says when it ends.
type withDeadline struct {
	context.Context
	at time.Time
}

func (c withDeadline) Deadline() (time.Time, bool) { return c.at, true }

func deadlineAt(ctx context.Context, at time.Time) context.Context { return withDeadline{ctx, at} }

func TestWhoLeavesWaitsNoMore(t *testing.T) {
	l, _ := small(t, 5)
	seat := begins(t, l, "alice")
	ctx, cancel := context.WithCancel(t.Context())
	gone, stays := begin(ctx, l, "bob"), begin(t.Context(), l, "bob")
	eventually(t, "both wait", func() bool { return waitingIn(l, "small") == 2 })
	cancel()
	<-gone.done
	if gone.ok || gone.ticket.Reason != reasonCanceled {
		t.Errorf("%v %s", gone.ok, gone.ticket.Reason)
	}
	seat.Done()
	<-stays.done
	if !stays.ok {
		t.Error("who stayed is rejected")
	}
	stays.ticket.Done()
}

// TestConfigurationChangesAtOnce, and nobody who waits is dropped: more seats
// let them in, fewer queues do not lose them, and a level that is deleted serves
// those it has.
func TestConfigurationChangesAtOnce(t *testing.T) {
	l, _ := small(t, 10)
	l.total = 1
	seat := begins(t, l, "alice")
	var waits []*begun
	for i := range 6 {
		waits = append(waits, begin(t.Context(), l, []string{"alice", "bob"}[i%2]))
	}
	eventually(t, "six wait", func() bool { return waitingIn(l, "small") == 6 })

	l.Configure(one(64, 3)) // other queues
	if n := waitingIn(l, "small"); n != 6 {
		t.Fatalf("%d still wait", n)
	}
	l.mu.Lock()
	l.total = 3 // as if more had been configured
	l.mu.Unlock()
	l.Configure(one(64, 3))
	eventually(t, "two more are let in", func() bool { return waitingIn(l, "small") == 4 })

	l.Configure(nil, nil) // all is deleted
	if !l.hasLevel("small") {
		t.Fatal("the level is gone while requests wait in it")
	}
	var b strings.Builder
	if err := l.DumpPriorityLevels(&b); err != nil || !quiesces(b.String(), "small") {
		t.Errorf("%v\n%s", err, b.String())
	}
	caught := begins(t, l, "bob")
	if caught.class.name != flowcontrolv1.FlowSchemaNameCatchAll {
		t.Errorf("bob is in %s", caught.class.name)
	}
	caught.Done()
	seat.Done()
	served := 0
	for served < len(waits) {
		for _, w := range waits {
			select {
			case <-w.done:
				if w.ticket != nil && !w.ticket.over {
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
		t.Error("the level is there although it is deleted and empty")
	}
}

func quiesces(dump, level string) bool {
	for line := range strings.Lines(dump) {
		if cells := strings.Fields(line); cells[0] == level+"," {
			return cells[3] == "true,"
		}
	}
	return false
}

// TestComesBack: a level that is made again while it is emptied is the same.
func TestComesBack(t *testing.T) {
	l, _ := small(t, 10)
	seat := begins(t, l, "alice")
	l.Configure(nil, nil)
	l.Configure(one(1, 10))
	b := begin(t.Context(), l, "bob")
	eventually(t, "bob waits for alice's seat", func() bool { return waitingIn(l, "small") == 1 })
	seat.Done()
	<-b.done
	b.ticket.Done()
	if !b.ok || !l.hasLevel("small") {
		t.Errorf("%v, and the level is there: %v", b.ok, l.hasLevel("small"))
	}
}

// TestChangesUnderLoad: whatever is configured meanwhile, everybody is served,
// and nobody runs in a level that is forgotten.
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
				l.Configure(one(int32(1+i%7), 1000))
			} else {
				// Others have nowhere to go but catch-all, which rejects: a level of
				// another name takes them instead.
				schemas, levels := one(4, 1000)
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
				ticket, ok := l.Begin(t.Context(), Ask{User: someone([]string{"alice", "bob"}[i%2]), Info: aGet()})
				if !ok && ticket.class.name != flowcontrolv1.FlowSchemaNameCatchAll {
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
	l.reap()
	for _, v := range l.inOrder() {
		if !v.set.idle() || len(v.set.active) != 0 || v.set.seatsInUse != 0 {
			t.Errorf("%s: %d execute and %d wait", v.name, v.set.executing, v.set.waiting)
		}
	}
}

// TestFinalSeats: a write that wakes many keeps seats after its answer.
func TestFinalSeats(t *testing.T) {
	l, clock := small(t, 5)
	for range 100 {
		defer l.Watching(&request.Info{Resource: "pods", Verb: "watch", Watch: true}, Selected{})()
	}
	info := aGet()
	info.Verb = "update"
	ticket, ok := l.Begin(t.Context(), Ask{User: someone("alice"), Info: info})
	if !ok || ticket.width != (Width{1, 1, 50 * time.Millisecond}) { // one seat is all that the level has for one request
		t.Fatalf("%v %+v", ok, ticket.width)
	}
	ticket.Done()
	b := begin(t.Context(), l, "bob")
	eventually(t, "bob waits", func() bool { return waitingIn(l, "small") == 1 })
	clock.advance(50 * time.Millisecond)
	<-b.done
	if !b.ok {
		t.Error("bob is rejected")
	}
	b.ticket.Done()
}

func TestNoSeats(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a limiter without seats")
	}
}
