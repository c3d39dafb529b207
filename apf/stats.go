package apf

import (
	"time"
)

// Bounds of histograms, equal to kube-apiserver's.
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

// flowStats are the statistics of one schema in one level. The level's lock guards them.
type flowStats struct {
	schema string
	used   bool // by the current configuration

	dispatched, blocked uint64
	rejections          map[string]uint64

	waited         [2]histogram // by whether the request was accepted: 0 no, 1 yes
	regular, watch histogram    // execution time of watches and others
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

// setStats are the statistics of a queueSet. Its lock guards them.
type setStats struct {
	flows  map[string]*flowStats
	demand demand
	// seatLimit and waitingLimit are the numbers of seats and of waiting requests that
	// utilization is measured against.
	seatLimit, waitingLimit int

	dispatches, rejections, timeouts, cancellations int
	rebases                                         uint64
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

// resume continues the counters and histograms of a removed level of the same name.
func (t *setStats) resume(past setStats) {
	t.flows, t.rebases = past.flows, past.rebases
	t.dispatches, t.rejections, t.timeouts, t.cancellations = past.dispatches, past.rejections, past.timeouts, past.cancellations
	t.seatsUsed, t.waiters, t.executors, t.demanded = past.seatsUsed, past.waiters, past.executors, past.demanded
}

func (t *setStats) enqueued(r *Ticket, length int) {
	r.flow.lengths.observe(float64(length), 1)
	t.demand.max = max(t.demand.max, r.set.seatsWaiting+r.set.seatsInUse)
}

// arrived records the estimates of a new request, also of one that will be rejected.
func (t *setStats) arrived(r *Ticket) {
	r.flow.seats.observe(float64(r.width.seats()), 1)
	if r.watchers >= 0 {
		r.flow.watchers.observe(float64(r.watchers), 1)
	}
}

// ended records the time that a request waited, which is zero for most, and whether it was accepted.
func (t *setStats) ended(r *Ticket, now time.Time, accepted bool) {
	i := 0
	if accepted {
		i = 1
	}
	r.flow.waited[i].observe(now.Sub(r.arrived).Seconds(), 1)
}

func (t *setStats) noAccommodation(r *Ticket) { r.flow.blocked++ }

func (t *setStats) countRejection(f *flowStats, reason string) {
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

// flow returns the statistics of a schema and marks them as used.
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

// flowLoad is the load that the requests of one schema are on a level.
type flowLoad struct {
	waiting, seatsWaiting     int
	executing, seatsExecuting int
}

// flowLoads returns the current load by the schema's statistics.
func (s *queueSet) flowLoads() map[*flowStats]flowLoad {
	loads := map[*flowStats]flowLoad{}
	for _, q := range s.active {
		for r := q.waiting.first; r != nil; r = r.next {
			l := loads[r.flow]
			l.waiting++
			l.seatsWaiting += r.width.seats()
			loads[r.flow] = l
		}
	}
	for r := s.running.first; r != nil; r = r.next {
		l := loads[r.flow]
		l.executing++
		l.seatsExecuting += r.width.seats()
		loads[r.flow] = l
	}
	return loads
}

// maxFlows is the maximum number of schemas of a level whose statistics are kept when the configuration no longer
// has them.
const maxFlows = 200

// beginFlows marks the statistics of all schemas as unused; flow marks the schemas of the new configuration as used.
// Counters must not restart when a schema is created again, so the others stay while there are few.
func (s *queueSet) beginFlows() {
	s.mu.Lock()
	defer s.mu.Unlock()
	loads := s.flowLoads()
	for name, f := range s.stats.flows {
		if _, loaded := loads[f]; !f.used && !loaded && len(s.stats.flows) > maxFlows {
			delete(s.stats.flows, name)
		}
		f.used = false
	}
}
