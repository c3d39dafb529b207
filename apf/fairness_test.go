package apf

import (
	"cmp"
	"container/heap"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// simulatedFlow is a source of requests in simulated time: a number of concurrent requests of a
// certain width and duration, each followed by a pause.
type simulatedFlow struct {
	id, many  int
	width     int
	takes     time.Duration
	pause     time.Duration
	served    work          // seat-time of its requests
	longest   time.Duration // wait
	completed int
}

// simulationEvent is a scheduled event of a simulation.
type simulationEvent struct {
	at    time.Time
	order int // among events of the same time
	do    func()
}

// eventQueue is a heap with the next event first.
type eventQueue []simulationEvent

func (a eventQueue) Len() int { return len(a) }
func (a eventQueue) Less(i, j int) bool {
	return cmp.Or(a[i].at.Compare(a[j].at), cmp.Compare(a[i].order, a[j].order)) < 0
}
func (a eventQueue) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *eventQueue) Push(e any)   { *a = append(*a, e.(simulationEvent)) }
func (a *eventQueue) Pop() any {
	e := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return e
}

// simulate runs flows against a queueSet with one queue for each flow.
func simulate(m *testQueueSet, flows []*simulatedFlow, last time.Duration) {
	var events eventQueue
	order := 0
	in := func(d time.Duration, do func()) {
		order++
		heap.Push(&events, simulationEvent{m.now.Add(d), order, do})
	}
	of := map[*Ticket]*simulatedFlow{}
	running := map[*Ticket]bool{}
	var send func(f *simulatedFlow)
	send = func(f *simulatedFlow) {
		r := m.arriveFlow(f.id, Width{Initial: f.width})
		if r == nil {
			in(time.Millisecond, func() { send(f) })
			return
		}
		of[r] = f
	}
	// started schedules the end of the requests that were dispatched.
	started := func() {
		for r := m.running.first; r != nil; r = r.next {
			if running[r] {
				continue
			}
			running[r] = true
			f := of[r]
			f.longest = max(f.longest, r.started.Sub(r.arrived))
			in(f.takes, func() {
				m.finish(m.now, r)
				delete(running, r)
				delete(of, r)
				f.served += workOf(r.width.Initial, m.now.Sub(r.started))
				f.completed++
				in(f.pause, func() { send(f) })
			})
		}
	}
	for _, f := range flows {
		for range f.many {
			in(0, func() { send(f) })
		}
	}
	end := m.now.Add(last)
	for len(events) > 0 {
		e := heap.Pop(&events).(simulationEvent)
		if e.at.After(end) {
			return
		}
		m.now = e.at
		e.do()
		started()
		m.requests = m.requests[:0]
	}
}

// TestElephantsAndMice simulates two flows with unlimited demand and many with little. Each
// mouse gets all it asks for, because that is below its share; the elephants share the rest
// equally.
func TestElephantsAndMice(t *testing.T) {
	const capacity, mice, last = 10, 20, time.Minute
	const takes = 10 * time.Millisecond
	m := newTestQueueSet(oneQueueEach(32, 1000), capacity)
	var flows []*simulatedFlow
	for i := range 2 {
		flows = append(flows, &simulatedFlow{id: i, many: 200, width: 1, takes: takes})
	}
	for i := range mice {
		// One seat for a tenth of the time; its share would be 10/22 of one seat.
		flows = append(flows, &simulatedFlow{id: 2 + i, many: 1, width: 1, takes: takes, pause: 9 * takes})
	}
	simulate(m, flows, last)
	elephants, rest := flows[:2], flows[2:]
	// In theory, the work of a flow in an interval deviates from its share by at most two
	// requests for each seat, because that many may execute out of order.
	bound := workOf(2*capacity, takes)
	var total work
	for _, f := range rest {
		total += f.served
		// A mouse waits at most for a free seat and for the other mice that arrived at the
		// same virtual time.
		if most := takes + mice*takes/capacity; f.longest > most {
			t.Errorf("mouse %d waited %v, the bound is %v", f.id, f.longest, most)
		}
		wants := float64(last) / float64(10*takes) // requests, if it never waits
		if got := float64(f.completed); got < wants/(1+float64(takes+mice*takes/capacity)/float64(10*takes))-1 {
			t.Errorf("mouse %d was served %.0f times of %.0f", f.id, got, wants)
		}
	}
	if d := elephants[0].served - elephants[1].served; max(d, -d) > bound {
		t.Errorf("the elephants got %v and %v", elephants[0].served, elephants[1].served)
	}
	if used := total + elephants[0].served + elephants[1].served; used < workOf(capacity, last)-bound {
		t.Errorf("only %v of %v were used", used, workOf(capacity, last))
	}
}

// TestBackloggedFlowsAreEqual checks that flows that always have waiting requests get the
// same seat-time, whatever the width and duration of their requests.
func TestBackloggedFlowsAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(4, 12).Draw(t, "seats")
		n := rapid.IntRange(2, 6).Draw(t, "flows")
		m := newTestQueueSet(oneQueueEach(16, 1000), capacity)
		var flows []*simulatedFlow
		var longest work
		for i := range n {
			f := &simulatedFlow{id: i, many: 2 * capacity, width: rapid.IntRange(1, capacity/2).Draw(t, "width"),
				takes: time.Duration(rapid.IntRange(1, 40).Draw(t, "ms")) * time.Millisecond}
			longest = max(longest, workOf(f.width, f.takes))
			flows = append(flows, f)
		}
		simulate(m, flows, 5*time.Second)
		least := slices.MinFunc(flows, func(a, b *simulatedFlow) int { return cmp.Compare(a.served, b.served) })
		most := slices.MaxFunc(flows, func(a, b *simulatedFlow) int { return cmp.Compare(a.served, b.served) })
		// Until the first request of a batch ends, its duration is an estimate: a flow may
		// get all seats once with requests that take longer than estimated, and be ahead by
		// that. If the other flows are ahead, so is R, and the last flow is not compensated
		// for the time before R. Requests in progress are not counted yet.
		if bound := 3 * work(capacity) * longest; most.served-least.served > bound {
			t.Fatalf("%v and %v, the bound is %v", least.served, most.served, bound)
		}
	})
}

// TestNobodyStarves checks for random mixtures that each request is served within the time
// that a fair share allows for the requests before it in its queue.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 8).Draw(t, "seats")
		n := rapid.IntRange(1, 10).Draw(t, "flows")
		m := newTestQueueSet(oneQueueEach(16, 1000), capacity)
		var flows []*simulatedFlow
		var longest time.Duration
		for i := range n {
			f := &simulatedFlow{id: i, many: rapid.IntRange(1, 30).Draw(t, "many"), width: rapid.IntRange(1, 2*capacity).Draw(t, "width"),
				takes: time.Duration(rapid.IntRange(1, 20).Draw(t, "ms")) * time.Millisecond,
				pause: time.Duration(rapid.IntRange(0, 50).Draw(t, "pause")) * time.Millisecond}
			longest = max(longest, f.takes)
			flows = append(flows, f)
		}
		simulate(m, flows, 5*time.Second)
		for _, f := range flows {
			// In the worst case one request executes at a time, and each flow gets its turns
			// by work: more turns, the smaller its requests are compared to the largest.
			large := 2 * float64(capacity) * float64(longest) / (float64(f.width) * float64(f.takes))
			turn := time.Duration((large + 2) * float64(n) * float64(longest) * 2)
			if bound := time.Duration(f.many+1)*turn + 2*turn; f.completed == 0 && bound < 5*time.Second {
				t.Fatalf("flow %d got nothing", f.id)
			} else if f.longest > bound {
				t.Fatalf("flow %d waited %v, the bound is %v", f.id, f.longest, bound)
			}
		}
	})
}

// TestIdleSavesNothing checks that the first request of an idle queue begins at R, without
// credit for the idle time.
func TestIdleSavesNothing(t *testing.T) {
	m := newTestQueueSet(oneQueueEach(4, 1000), 2)
	for range 100 {
		m.arriveFlow(0, Width{Initial: 1})
	}
	serve := func(n int) (first int) { // returns the number of requests of flow 1 among the next n
		for range n {
			m.now = m.now.Add(10 * time.Millisecond)
			r := m.running.first
			if r.distinguisher == "1" {
				first++
			}
			m.finish(m.now, r)
		}
		return first
	}
	serve(40)
	for range 40 {
		m.arriveFlow(1, Width{Initial: 1})
	}
	if n := serve(20); n < 8 || n > 11 {
		t.Errorf("%d of 20 were of the flow that came late", n)
	}
}
