package apf

import (
	"cmp"
	"container/heap"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// flow is a source of requests in simulated time: so many of them at a time, of
// a certain width and duration, each followed by a pause.
type flow struct {
	id, many  int
	width     int
	takes     time.Duration
	pause     time.Duration
	served    work          // seat-time that it got
	longest   time.Duration // wait
	completed int
}

// event is something that is due in a simulation.
type event struct {
	at    time.Time
	order int // among those that are due at the same time
	do    func()
}

// agenda has the next event first.
type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return cmp.Or(a[i].at.Compare(a[j].at), cmp.Compare(a[i].order, a[j].order)) < 0
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(e any)   { *a = append(*a, e.(event)) }
func (a *agenda) Pop() any {
	e := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return e
}

// simulate runs flows against seats for a while. Each flow has a queue of its
// own.
func simulate(m *machine, flows []*flow, last time.Duration) {
	var events agenda
	order := 0
	in := func(d time.Duration, do func()) {
		order++
		heap.Push(&events, event{m.now.Add(d), order, do})
	}
	of := map[*Ticket]*flow{}
	running := map[*Ticket]bool{}
	var send func(f *flow)
	send = func(f *flow) {
		r := m.come(f.id, Width{Initial: f.width})
		if r == nil {
			in(time.Millisecond, func() { send(f) })
			return
		}
		of[r] = f
	}
	// started notes which requests were given seats, and when they will end.
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
		e := heap.Pop(&events).(event)
		if e.at.After(end) {
			return
		}
		m.now = e.at
		e.do()
		started()
		m.requests = m.requests[:0]
	}
}

// TestElephantsAndMice: two flows that want everything, and many that want
// little. Each mouse gets what it asks for, since that is less than its share;
// the elephants get the rest, in halves.
func TestElephantsAndMice(t *testing.T) {
	const capacity, mice, last = 10, 20, time.Minute
	const takes = 10 * time.Millisecond
	m := newMachine(oneQueueEach(32, 1000), capacity)
	var flows []*flow
	for i := range 2 {
		flows = append(flows, &flow{id: i, many: 200, width: 1, takes: takes})
	}
	for i := range mice {
		// One seat for a tenth of the time; its share would be 10/22 of one seat.
		flows = append(flows, &flow{id: 2 + i, many: 1, width: 1, takes: takes, pause: 9 * takes})
	}
	simulate(m, flows, last)
	elephants, rest := flows[:2], flows[2:]
	// Theory: what a flow gets in an interval is within the work of two requests
	// of its share for each seat, since so many may be under way out of order.
	bound := workOf(2*capacity, takes)
	var total work
	for _, f := range rest {
		total += f.served
		// A mouse waits at most for a seat to be free, and for the other mice that
		// came at the same virtual time.
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

// TestBackloggedFlowsAreEqual: flows that always have something waiting get the
// same seat-time, however wide and long their requests are, and though nobody
// knows how long beforehand.
func TestBackloggedFlowsAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(4, 12).Draw(t, "seats")
		n := rapid.IntRange(2, 6).Draw(t, "flows")
		m := newMachine(oneQueueEach(16, 1000), capacity)
		var flows []*flow
		var longest work
		for i := range n {
			f := &flow{id: i, many: 2 * capacity, width: rapid.IntRange(1, capacity/2).Draw(t, "width"),
				takes: time.Duration(rapid.IntRange(1, 40).Draw(t, "ms")) * time.Millisecond}
			longest = max(longest, workOf(f.width, f.takes))
			flows = append(flows, f)
		}
		simulate(m, flows, 5*time.Second)
		least := slices.MinFunc(flows, func(a, b *flow) int { return cmp.Compare(a.served, b.served) })
		most := slices.MaxFunc(flows, func(a, b *flow) int { return cmp.Compare(a.served, b.served) })
		// Before the first of a batch ends, its length is a guess: a flow may have
		// all seats once with requests that are longer than was thought, and be as
		// much ahead. Where the others are, R is ahead with them of the last, who is
		// not given back what was before R. And what is under way is not counted yet.
		if bound := 3 * work(capacity) * longest; most.served-least.served > bound {
			t.Fatalf("%v and %v, the bound is %v", least.served, most.served, bound)
		}
	})
}

// TestNobodyStarves: in whatever mixture, each request is served in the time
// that a fair share allows for what was before it in its queue.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 8).Draw(t, "seats")
		n := rapid.IntRange(1, 10).Draw(t, "flows")
		m := newMachine(oneQueueEach(16, 1000), capacity)
		var flows []*flow
		var longest time.Duration
		for i := range n {
			f := &flow{id: i, many: rapid.IntRange(1, 30).Draw(t, "many"), width: rapid.IntRange(1, 2*capacity).Draw(t, "width"),
				takes: time.Duration(rapid.IntRange(1, 20).Draw(t, "ms")) * time.Millisecond,
				pause: time.Duration(rapid.IntRange(0, 50).Draw(t, "pause")) * time.Millisecond}
			longest = max(longest, f.takes)
			flows = append(flows, f)
		}
		simulate(m, flows, 5*time.Second)
		for _, f := range flows {
			// At worst one request executes at a time, and each flow has its turns by
			// work: as often as its requests are smaller than the largest.
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

// TestIdleSavesNothing: a queue to which nothing came begins at R, and not with
// all the time in which it asked for nothing.
func TestIdleSavesNothing(t *testing.T) {
	m := newMachine(oneQueueEach(4, 1000), 2)
	for range 100 {
		m.come(0, Width{Initial: 1})
	}
	serve := func(n int) (first int) { // how many of flow 1 were among so many
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
		m.come(1, Width{Initial: 1})
	}
	if n := serve(20); n < 8 || n > 11 {
		t.Errorf("%d of 20 were of the flow that came late", n)
	}
}
