package apf

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/request"
)

// testQueueSet is a queueSet under test with all its requests. The test advances the time.
type testQueueSet struct {
	*queueSet
	now      time.Time
	requests []*Ticket
	stats    *flowStats
	lastR    work
	rejected int
}

func newTestQueueSet(how queuingConfig, limit int) *testQueueSet {
	m := &testQueueSet{queueSet: newQueueSet("level", how, testStart), now: testStart}
	m.stats = m.flow("schema")
	m.setLimit(m.now, limit, limit)
	return m
}

// oneQueueEach returns a configuration that deals flow i the queue i.
func oneQueueEach(queues, length int) queuingConfig {
	return queuingConfig{mode: modeQueue, dealer: dealer{queues, 1}, length: length}
}

// arriveFlow has a request of a flow arrive, and returns nil if it is rejected.
func (m *testQueueSet) arriveFlow(flow int, w Width) *Ticket {
	t := &Ticket{flow: m.stats, width: w, hash: uint64(flow), distinguisher: fmt.Sprint(flow), watchers: -1, schema: &flowSchema{name: "schema"},
		user: &request.User{}, info: &request.Info{}}
	if v, _ := m.arrive(m.now, t); v == verdictReject {
		m.rejected++
		return nil
	}
	m.requests = append(m.requests, t)
	return t
}

// inState returns the requests in a state in the order of arrival.
func (m *testQueueSet) inState(s ticketState) (all []*Ticket) {
	for _, r := range m.requests {
		if r.state == s {
			all = append(all, r)
		}
	}
	return all
}

// check verifies the invariants.
func (m *testQueueSet) check(t *rapid.T) {
	waits, runs, lingers := m.inState(stateWaiting), m.inState(stateExecuting), m.inState(stateLingering)
	var seatsWaiting, seatsInUse int
	for _, r := range waits {
		seatsWaiting += r.width.seats()
		if r.decided == nil {
			t.Fatal("a waiting request has no decided channel")
		}
	}
	queued := map[*queue]bool{}
	for _, r := range append(runs, lingers...) {
		seatsInUse += r.width.seats()
	}
	for _, r := range append(waits, append(runs, lingers...)...) {
		if r.queue != nil {
			queued[r.queue] = true
		}
	}
	switch {
	case m.waiting != len(waits) || m.executing != len(runs)+len(lingers) || m.running.n != m.executing:
		t.Fatalf("%d wait and %d execute, but it counts %d and %d", len(waits), len(runs)+len(lingers), m.waiting, m.executing)
	case m.seatsWaiting != seatsWaiting || m.seatsInUse != seatsInUse:
		t.Fatalf("seats are %d waited for, %d in use, but it counts %d and %d", seatsWaiting, seatsInUse, m.seatsWaiting, m.seatsInUse)
	case len(m.active) != len(queued) || len(m.queues) != len(queued):
		t.Fatalf("%d queues have requests, but it counts %d", len(queued), len(m.active))
	case m.waiting > 0 && m.seatsInUse < m.limit && m.fits(m.nextRequest().width.seats()):
		t.Fatal("a request waits although it fits")
	case m.r < m.lastR:
		t.Fatalf("virtual time went back from %v to %v", m.lastR, m.r)
	}
	m.lastR = m.r
	f := m.flowLoads()[m.stats]
	if f.waiting != len(waits) || f.executing != m.executing || f.seatsWaiting != seatsWaiting || f.seatsExecuting != seatsInUse {
		t.Fatalf("wrong statistics: %+v", f)
	}
}

// TestQueueSet runs random operations on a level and checks its invariants.
func TestQueueSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := rapid.IntRange(1, 8).Draw(t, "queues")
		how := queuingConfig{mode: modeQueue, dealer: dealer{queues, rapid.IntRange(1, queues).Draw(t, "hand")}, length: rapid.IntRange(1, 5).Draw(t, "length")}
		m := newTestQueueSet(how, rapid.IntRange(0, 6).Draw(t, "limit"))
		before := m.seatsInUse
		one := func(s ticketState) *Ticket {
			all := m.inState(s)
			if len(all) == 0 {
				t.Skip("there is none")
			}
			return rapid.SampledFrom(all).Draw(t, "which")
		}
		limited := false // the limit was lowered since seats were occupied
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				m.check(t)
				if m.seatsInUse > before && m.seatsInUse > m.limit && m.executing > 1 && !limited {
					t.Fatalf("%d of %d seats are taken", m.seatsInUse, m.limit)
				}
				before, limited = m.seatsInUse, false
			},
			"time": func(t *rapid.T) { m.now = m.now.Add(time.Duration(rapid.IntRange(0, 1e8).Draw(t, "ns"))) },
			"come": func(t *rapid.T) {
				w := Width{Initial: rapid.IntRange(1, 4).Draw(t, "seats")}
				if rapid.Bool().Draw(t, "lingers") {
					w.Final, w.Extra = rapid.IntRange(1, 8).Draw(t, "final"), 5*time.Millisecond
				}
				m.arriveFlow(rapid.IntRange(0, 20).Draw(t, "flow"), w)
			},
			"finish":  func(t *rapid.T) { m.finish(m.now, one(stateExecuting)) },
			"release": func(t *rapid.T) { m.release(m.now, one(stateLingering)) },
			"abandon": func(t *rapid.T) {
				if r := one(stateWaiting); !m.cancelWait(m.now, r, reasonTimeout) || r.state != stateRejected {
					t.Fatal("the request still waits after cancelWait")
				}
			},
			"too late": func(t *rapid.T) {
				if m.cancelWait(m.now, one(stateExecuting), reasonTimeout) {
					t.Fatal("cancelWait returned true for an executing request")
				}
			},
			"limit": func(t *rapid.T) {
				limited = true
				m.setLimit(m.now, rapid.IntRange(0, 6).Draw(t, "limit"), 1)
			},
			"reconfigure": func(t *rapid.T) {
				n := rapid.IntRange(1, 8).Draw(t, "queues")
				m.reconfigure(m.now, queuingConfig{mode: modeQueue, dealer: dealer{n, rapid.IntRange(1, n).Draw(t, "hand")}, length: 3})
			},
			"reject":   func(*rapid.T) { m.reconfigure(m.now, queuingConfig{mode: modeReject}) },
			"epoch":    func(*rapid.T) { m.rebaseVirtualTime(); m.lastR = 0 },
			"too soon": func(t *rapid.T) { m.release(m.now, one(stateExecuting)) },
		})
		if m.limit == 0 {
			m.setLimit(m.now, 1, 1) // without seats all wait
		}
		// When all executing requests end, all waiting ones are served.
		for range 10000 {
			if m.idle() {
				break
			}
			m.now = m.now.Add(time.Millisecond)
			for _, r := range m.inState(stateExecuting) {
				m.finish(m.now, r)
			}
			for _, r := range m.inState(stateLingering) {
				m.release(m.now, r)
			}
			m.check(t)
		}
		if !m.idle() || !m.retire() {
			t.Fatalf("%d still wait", m.waiting)
		}
		if v, _ := m.arrive(m.now, &Ticket{flow: m.stats, width: Width{Initial: 1}}); v != verdictLevelRemoved {
			t.Fatal("a removed level accepts requests")
		}
	})
}

// TestWideGetsItsSeats checks that a stream of narrow requests does not starve a wide one,
// and that a request wider than the level executes alone.
func TestWideGetsItsSeats(t *testing.T) {
	for _, seats := range []int{4, 9} {
		m := newTestQueueSet(oneQueueEach(8, 100), 4)
		for range 4 {
			m.arriveFlow(1, Width{Initial: 1})
		}
		wide := m.arriveFlow(2, Width{Initial: seats})
		for i := 0; wide.state == stateWaiting; i++ {
			if i > 20 {
				t.Fatalf("a request for %d seats starves", seats)
			}
			m.arriveFlow(1, Width{Initial: 1})
			m.now = m.now.Add(time.Millisecond)
			m.finish(m.now, m.inState(stateExecuting)[0])
		}
		if m.executing != 1 {
			t.Errorf("%d execute beside one of %d seats", m.executing-1, seats)
		}
	}
}

// TestLingeringPutsAnotherFirst: the end of a request that took less time than estimated
// puts its queue first, even while its final seats are occupied. The next request then
// executes if there are seats.
func TestLingeringPutsAnotherFirst(t *testing.T) {
	m := newTestQueueSet(oneQueueEach(2, 10), 3)
	first, lingers := m.arriveFlow(0, Width{Initial: 1}), m.arriveFlow(0, Width{Initial: 1, Final: 1, Extra: time.Millisecond})
	m.arriveFlow(0, Width{Initial: 1})
	narrow, wide := m.arriveFlow(0, Width{Initial: 1}), m.arriveFlow(1, Width{Initial: 2, Final: 2, Extra: time.Millisecond})
	m.finish(m.now, first)
	if narrow.state != stateWaiting || wide.state != stateWaiting {
		t.Fatalf("they are in states %v and %v", narrow.state, wide.state)
	}
	m.finish(m.now, lingers)
	if narrow.state != stateExecuting || lingers.state != stateLingering {
		t.Errorf("they are in states %v and %v", narrow.state, lingers.state)
	}
}

func TestQueueIsFull(t *testing.T) {
	m := newTestQueueSet(oneQueueEach(4, 2), 1)
	for range 5 {
		m.arriveFlow(1, Width{Initial: 1})
	}
	if m.waiting != 2 || m.rejected != 2 || m.stats.rejections[reasonFull] != 2 {
		t.Errorf("%d wait, %d are rejected", m.waiting, m.rejected)
	}
	if m.arriveFlow(2, Width{Initial: 1}) == nil {
		t.Error("another flow is rejected too")
	}
}

func TestReject(t *testing.T) {
	m := newTestQueueSet(queuingConfig{mode: modeReject}, 2)
	a := m.arriveFlow(1, Width{Initial: 1})
	m.arriveFlow(1, Width{Initial: 1})
	if m.arriveFlow(1, Width{Initial: 1}) != nil || m.stats.rejections[reasonLimit] != 1 {
		t.Error("a third request was queued in a queue of two")
	}
	m.finish(m.now, a)
	if m.arriveFlow(1, Width{Initial: 1}) == nil {
		t.Error("rejected although a seat is free")
	}
}

func TestExemptIsNeverHeldUp(t *testing.T) {
	m := newTestQueueSet(queuingConfig{mode: modeExempt}, 0)
	for range 1000 {
		if r := m.arriveFlow(1, Width{Initial: 5}); r.state != stateExecuting {
			t.Fatal("the request waits")
		}
	}
	if m.seatsInUse != 5000 {
		t.Errorf("%d seats", m.seatsInUse)
	}
}

// TestVirtualTime checks that R grows by the seats in use divided by the active queues.
func TestVirtualTime(t *testing.T) {
	m := newTestQueueSet(oneQueueEach(8, 100), 4)
	step := func(want work) {
		t.Helper()
		r := m.r
		m.now = m.now.Add(time.Second)
		m.advanceTo(m.now)
		if got := m.r - r; got != want {
			t.Errorf("R grew by %v in a second, not %v", got, want)
		}
	}
	step(0) // no request
	first := m.arriveFlow(1, Width{Initial: 1})
	step(work(time.Second)) // one seat, one queue
	m.arriveFlow(1, Width{Initial: 1})
	step(2 * work(time.Second))
	m.arriveFlow(2, Width{Initial: 1})
	step(3 * work(time.Second) / 2) // two queues
	for range 10 {
		m.arriveFlow(2, Width{Initial: 1})
	}
	step(2 * work(time.Second)) // limited by the seats
	took := m.queues[1].next
	m.finish(m.now, first)
	if got := m.queues[1].next - took; got != workOf(1, 4*time.Second-estimatedDuration) {
		t.Errorf("the estimate was corrected by %v", got)
	}
}
