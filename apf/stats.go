package apf

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// demand is the statistics of a level's seat demand, occupied plus waited for, over a
// period.
type demand struct {
	period           time.Duration
	max              int
	sum, sumOfSquare float64 // the integrals of seats and their squares over seconds
}

// addPeriod adds a period with a constant demand.
func (d *demand) addPeriod(seats int, t time.Duration) {
	s, v := t.Seconds(), float64(seats)
	d.period += t
	d.sum += v * s
	d.sumOfSquare += v * v * s
	d.max = max(d.max, seats)
}

// reset returns the statistics and resets them, with the current demand.
func (d *demand) reset(seats int) demand {
	was := *d
	was.max = max(was.max, seats)
	*d = demand{max: seats}
	return was
}

// mean returns the time-weighted mean.
func (d demand) mean() float64 {
	if d.period <= 0 {
		return 0
	}
	return d.sum / d.period.Seconds()
}

// deviation returns the time-weighted standard deviation.
func (d demand) deviation() float64 {
	if d.period <= 0 {
		return 0
	}
	mean := d.mean()
	return math.Sqrt(max(0, d.sumOfSquare/d.period.Seconds()-mean*mean))
}

// demandSmoothing is the weight of the previous smoothed demand in an adjustment period in which
// the demand falls. Its half-life is five minutes.
const demandSmoothing = 0.977

// demandForecast is the expected demand of a level.
type demandForecast struct {
	max             int
	mean, deviation float64
	smoothed        float64
}

// update adds the last period. The smoothed demand rises at once and falls slowly.
func (o *demandForecast) update(d demand) {
	o.max = d.max
	if d.period <= 0 {
		return
	}
	o.mean, o.deviation = d.mean(), d.deviation()
	envelope := o.mean + o.deviation
	o.smoothed = max(envelope, demandSmoothing*o.smoothed+(1-demandSmoothing)*envelope)
}

// histogram counts observations by size. Its owner's lock guards it, so an observation costs
// one addition.
type histogram struct {
	bounds []float64 // shared
	counts []uint64  // by bound, and one more for larger values
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// observe adds n observations of v.
func (h *histogram) observe(v float64, n uint64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i] += n
	h.sum += v * float64(n)
}

// addPeriod adds an observation of n/of for each nanosecond of d.
func (h *histogram) addPeriod(d time.Duration, n, of int) {
	h.observe(float64(n)/float64(max(of, 1)), uint64(d))
}

// metric returns h as a Prometheus metric.
func (h *histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.bounds))
	var n uint64
	for i, b := range h.bounds {
		n += h.counts[i]
		buckets[b] = n
	}
	return prometheus.MustNewConstHistogram(desc, n+h.counts[len(h.bounds)], h.sum, buckets, labels...)
}

// observed reports whether h has observations.
func (h *histogram) observed() bool {
	for _, n := range h.counts {
		if n > 0 {
			return true
		}
	}
	return false
}
