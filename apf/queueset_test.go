package apf

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/request"
)

// machine is a queueSet with what a test knows of it. Nothing runs beside it:
// time passes when the test says so.
type machine struct {
	*queueSet
	now      time.Time
	requests []*Ticket
	stats    *flowStats
	lastR    work
	rejected int
}

func newMachine(how queuing, limit int) *machine {
	m := &machine{queueSet: newQueueSet("level", how, beginning), now: beginning}
	m.stats = m.flow("schema")
	m.setLimit(m.now, limit, limit)
	return m
}

// oneQueueEach has so many queues and deals flow i the queue i.
func oneQueueEach(queues, length int) queuing {
	return queuing{mode: queueing, dealer: dealer{queues, 1}, length: length}
}

// come has a request of a flow arrive; nil if it is rejected.
func (m *machine) come(flow int, w Width) *Ticket {
	t := &Ticket{flow: m.stats, width: w, hash: uint64(flow), distinguisher: fmt.Sprint(flow), watchers: -1, class: &flowSchema{name: "schema"},
		user: &request.User{}, info: &request.Info{}}
	if v, _ := m.arrive(m.now, t); v == rejected {
		m.rejected++
		return nil
	}
	m.requests = append(m.requests, t)
	return t
}

// inState are the requests of a state, in the order in which they came.
func (m *machine) inState(s state) (all []*Ticket) {
	for _, r := range m.requests {
		if r.state == s {
			all = append(all, r)
		}
	}
	return all
}

// check holds what is always true.
func (m *machine) check(t *rapid.T) {
	waits, runs, lingers := m.inState(waiting), m.inState(executing), m.inState(lingering)
	var seatsWaiting, seatsInUse int
	for _, r := range waits {
		seatsWaiting += r.width.seats()
		if r.decided == nil {
			t.Fatal("a request waits that nobody will tell")
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
	case m.waiting > 0 && m.fits(m.nextRequest().width.seats()):
		t.Fatal("somebody waits for whom there are seats")
	case m.r < m.lastR:
		t.Fatalf("virtual time went back from %v to %v", m.lastR, m.r)
	}
	m.lastR = m.r
	f := m.stats
	if f.waiting != len(waits) || f.executing != m.executing || f.seatsWaiting != seatsWaiting || f.seatsExecuting != seatsInUse {
		t.Fatalf("its statistics are off: %+v", f)
	}
}

// TestQueueSet has a level live through anything that may happen to it.
func TestQueueSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := rapid.IntRange(1, 8).Draw(t, "queues")
		how := queuing{mode: queueing, dealer: dealer{queues, rapid.IntRange(1, queues).Draw(t, "hand")}, length: rapid.IntRange(1, 5).Draw(t, "length")}
		m := newMachine(how, rapid.IntRange(0, 6).Draw(t, "limit"))
		before := m.seatsInUse
		one := func(s state) *Ticket {
			all := m.inState(s)
			if len(all) == 0 {
				t.Skip("there is none")
			}
			return rapid.SampledFrom(all).Draw(t, "which")
		}
		limited := false // the limit was lowered since seats were given
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
				m.come(rapid.IntRange(0, 20).Draw(t, "flow"), w)
			},
			"finish":  func(t *rapid.T) { m.finish(m.now, one(executing)) },
			"release": func(t *rapid.T) { m.release(m.now, one(lingering)) },
			"abandon": func(t *rapid.T) {
				if r := one(waiting); !m.abandon(m.now, r, reasonTimeout) || r.state != refused {
					t.Fatal("it waits although it left")
				}
			},
			"too late": func(t *rapid.T) {
				if m.abandon(m.now, one(executing), reasonTimeout) {
					t.Fatal("it left although it executes")
				}
			},
			"limit": func(t *rapid.T) {
				limited = true
				m.setLimit(m.now, rapid.IntRange(0, 6).Draw(t, "limit"), 1)
			},
			"reconfigure": func(t *rapid.T) {
				n := rapid.IntRange(1, 8).Draw(t, "queues")
				m.reconfigure(m.now, queuing{mode: queueing, dealer: dealer{n, rapid.IntRange(1, n).Draw(t, "hand")}, length: 3})
			},
			"reject":   func(*rapid.T) { m.reconfigure(m.now, queuing{mode: rejecting}) },
			"epoch":    func(*rapid.T) { m.beginEpoch(); m.lastR = 0 },
			"too soon": func(t *rapid.T) { m.release(m.now, one(executing)) },
		})
		// Nobody is forgotten: when all who execute end, all who wait are served.
		for range 10000 {
			if m.idle() {
				break
			}
			m.now = m.now.Add(time.Millisecond)
			for _, r := range m.inState(executing) {
				m.finish(m.now, r)
			}
			for _, r := range m.inState(lingering) {
				m.release(m.now, r)
			}
			m.check(t)
		}
		if !m.idle() || !m.retire() {
			t.Fatalf("%d still wait", m.waiting)
		}
		if v, _ := m.arrive(m.now, &Ticket{flow: m.stats, width: Width{Initial: 1}}); v != gone {
			t.Fatal("a level that is no more takes in requests")
		}
	})
}

// TestWideGetsItsSeats: requests of one seat that keep coming do not keep a wide
// one from ever getting its seats, and one that is wider than the level runs
// alone.
func TestWideGetsItsSeats(t *testing.T) {
	for _, seats := range []int{4, 9} {
		m := newMachine(oneQueueEach(8, 100), 4)
		for range 4 {
			m.come(1, Width{Initial: 1})
		}
		wide := m.come(2, Width{Initial: seats})
		for i := 0; wide.state == waiting; i++ {
			if i > 20 {
				t.Fatalf("a request for %d seats starves", seats)
			}
			m.come(1, Width{Initial: 1})
			m.now = m.now.Add(time.Millisecond)
			m.finish(m.now, m.inState(executing)[0])
		}
		if m.executing != 1 {
			t.Errorf("%d execute beside one of %d seats", m.executing-1, seats)
		}
	}
}

// TestLingeringPutsAnotherFirst: a request that ends sooner than was guessed puts its
// queue before others, also while its final seats are still taken. Who is next then
// does not wait if there are seats.
func TestLingeringPutsAnotherFirst(t *testing.T) {
	m := newMachine(oneQueueEach(2, 10), 3)
	first, lingers := m.come(0, Width{Initial: 1}), m.come(0, Width{Initial: 1, Final: 1, Extra: time.Millisecond})
	m.come(0, Width{Initial: 1})
	narrow, wide := m.come(0, Width{Initial: 1}), m.come(1, Width{Initial: 2, Final: 2, Extra: time.Millisecond})
	m.finish(m.now, first)
	if narrow.state != waiting || wide.state != waiting {
		t.Fatalf("they are in states %v and %v", narrow.state, wide.state)
	}
	m.finish(m.now, lingers)
	if narrow.state != executing || lingers.state != lingering {
		t.Errorf("they are in states %v and %v", narrow.state, lingers.state)
	}
}

func TestQueueIsFull(t *testing.T) {
	m := newMachine(oneQueueEach(4, 2), 1)
	for range 5 {
		m.come(1, Width{Initial: 1})
	}
	if m.waiting != 2 || m.rejected != 2 || m.stats.rejections[reasonFull] != 2 {
		t.Errorf("%d wait, %d are rejected", m.waiting, m.rejected)
	}
	if m.come(2, Width{Initial: 1}) == nil {
		t.Error("another flow is rejected too")
	}
}

func TestReject(t *testing.T) {
	m := newMachine(queuing{mode: rejecting}, 2)
	a := m.come(1, Width{Initial: 1})
	m.come(1, Width{Initial: 1})
	if m.come(1, Width{Initial: 1}) != nil || m.stats.rejections[reasonLimit] != 1 {
		t.Error("the third of two was let in")
	}
	m.finish(m.now, a)
	if m.come(1, Width{Initial: 1}) == nil {
		t.Error("rejected although there is a seat")
	}
}

func TestExemptIsNeverHeldUp(t *testing.T) {
	m := newMachine(queuing{mode: exempt}, 0)
	for range 1000 {
		if r := m.come(1, Width{Initial: 5}); r.state != executing {
			t.Fatal("it waits")
		}
	}
	if m.seatsInUse != 5000 {
		t.Errorf("%d seats", m.seatsInUse)
	}
}

// TestVirtualTime: R grows by the seats that are used, for each queue.
func TestVirtualTime(t *testing.T) {
	m := newMachine(oneQueueEach(8, 100), 4)
	step := func(want work) {
		t.Helper()
		r := m.r
		m.now = m.now.Add(time.Second)
		m.pass(m.now)
		if got := m.r - r; got != want {
			t.Errorf("R grew by %v in a second, not %v", got, want)
		}
	}
	step(0) // nobody is there
	first := m.come(1, Width{Initial: 1})
	step(work(time.Second)) // one seat of one queue
	m.come(1, Width{Initial: 1})
	step(2 * work(time.Second))
	m.come(2, Width{Initial: 1})
	step(3 * work(time.Second) / 2) // two queues
	for range 10 {
		m.come(2, Width{Initial: 1})
	}
	step(2 * work(time.Second)) // no more than there are seats
	took := m.queues[1].next
	m.finish(m.now, first)
	if got := m.queues[1].next - took; got != workOf(1, 4*time.Second-guess) {
		t.Errorf("the guess was corrected by %v", got)
	}
}
