package apf

import (
	"time"
)

// Bounds of histograms; kube-apiserver's.
var (
	lengthBounds   = []float64{0, 10, 25, 50, 100, 250, 500, 1000}
	durationBounds = []float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}
	watcherBounds  = []float64{0, 1, 10, 100, 1000, 10000}
	seatBounds     = []float64{1, 2, 4, 10}
	usedBounds     = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
	requestBounds  = []float64{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1}
	demandBounds   = []float64{0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6}
	kindBounds     = []float64{0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
)

// flowStats is what is counted of the requests of one schema in one level. It is
// guarded by the lock of the level.
type flowStats struct {
	schema string
	used   bool // by the configuration

	waiting, seatsWaiting     int
	executing, seatsExecuting int
	dispatched, blocked       uint64
	rejections                map[string]uint64

	waited         [2]histogram // of requests that were rejected, and executed
	regular, watch histogram    // execution
	lengths, seats histogram
	watchers       histogram
}

func newFlowStats(schema string) *flowStats {
	return &flowStats{
		schema: schema, rejections: map[string]uint64{},
		waited:  [2]histogram{newHistogram(durationBounds), newHistogram(durationBounds)},
		regular: newHistogram(durationBounds), watch: newHistogram(durationBounds),
		lengths: newHistogram(lengthBounds), seats: newHistogram(seatBounds), watchers: newHistogram(watcherBounds),
	}
}

// setStats is what is measured of a queueSet. It is guarded by its lock.
type setStats struct {
	flows  map[string]*flowStats
	demand demand
	// denominator is what utilisation is measured by.
	denominator int

	dispatches, rejections, timeouts, cancellations int
	epochs                                          uint64
	// dispatchR and latestS are R and S at the last dispatch.
	dispatchR, latestS work

	seatsUsed, waiters, executors, demanded histogram
}

func newSetStats() setStats {
	return setStats{
		flows:     map[string]*flowStats{},
		seatsUsed: newHistogram(usedBounds), waiters: newHistogram(requestBounds),
		executors: newHistogram(requestBounds), demanded: newHistogram(demandBounds),
	}
}

// pass notes that the set was for a time as it is.
func (t *setStats) pass(d time.Duration, s *queueSet) {
	seats := s.seatsWaiting + s.seatsInUse
	t.demand.pass(seats, d)
	t.demanded.pass(d, seats, t.denominator)
	t.seatsUsed.pass(d, s.seatsInUse, t.denominator)
	t.executors.pass(d, s.executing, t.denominator)
	t.waiters.pass(d, s.waiting, s.how.places())
}

func (t *setStats) enqueued(r *Ticket, length int) {
	r.flow.waiting++
	r.flow.seatsWaiting += r.width.seats()
	r.flow.lengths.observe(float64(length))
	t.demand.see(r.set.seatsWaiting + r.set.seatsInUse)
}

// left: the request is out of its queue, and executes or not.
func (t *setStats) left(r *Ticket, now time.Time, executes bool) {
	i := 0
	if executes {
		i = 1
	}
	r.flow.waited[i].observe(now.Sub(r.arrived).Seconds())
}

// unqueued: the request, with the width that it had, waits no more.
func (t *setStats) unqueued(r *Ticket) {
	r.flow.waiting--
	r.flow.seatsWaiting -= r.width.seats()
}

func (t *setStats) dispatched(r *Ticket, s *queueSet) {
	t.dispatches++
	t.demand.see(s.seatsWaiting + s.seatsInUse)
	f := r.flow
	f.dispatched++
	f.executing++
	f.seatsExecuting += r.width.seats()
	f.seats.observe(float64(r.width.seats()))
	if r.watchers >= 0 {
		f.watchers.observe(float64(r.watchers))
	}
	if r.queue != nil {
		t.dispatchR, t.latestS = s.r, r.queue.next-r.width.estimate()
	}
}

func (t *setStats) unaccommodated(r *Ticket) { r.flow.blocked++ }

func (t *setStats) finished(r *Ticket, took time.Duration) {
	h := &r.flow.regular
	if r.info != nil && r.info.Watch {
		h = &r.flow.watch
	}
	h.observe(took.Seconds())
}

func (t *setStats) vacated(r *Ticket) {
	r.flow.executing--
	r.flow.seatsExecuting -= r.width.seats()
}

func (t *setStats) reject(f *flowStats, reason string) {
	f.rejections[reason]++
	switch reason {
	case reasonTimeout:
		t.timeouts++
	case reasonCanceled:
		t.cancellations++
	default:
		t.rejections++
	}
}

// flow returns what is counted of a schema, from now on.
func (s *queueSet) flow(schema string) *flowStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.stats.flows[schema]
	if f == nil {
		f = newFlowStats(schema)
		s.stats.flows[schema] = f
	}
	f.used = true
	return f
}

// beginFlows forgets schemas that are not in use any more; those that are, are
// asked for with flow after it.
func (s *queueSet) beginFlows() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, f := range s.stats.flows {
		if !f.used && f.waiting == 0 && f.executing == 0 {
			delete(s.stats.flows, name)
		}
		f.used = false
	}
}
