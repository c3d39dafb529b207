package apf

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// Inflight counts the executing and waiting requests of a server, separately for reading and
// mutating ones. It is safe for concurrent use.
type Inflight struct {
	clock Clock
	kinds [2]requestCounts // reading, mutating
}

// requestCounts has the counts of either the reading or the mutating requests.
type requestCounts struct {
	mu                 sync.Mutex // guards the fields below
	last               time.Time
	waiting, executing requestCount
}

// requestCount is a number of requests, with its statistics over time.
type requestCount struct {
	n int
	// max and previousMax are the maxima in the current second and in the previous one.
	max, previousMax int
	// overTime has an observation of n/limit for each nanosecond.
	overTime histogram
	limit    int
}

// NewInflight returns an Inflight without requests. A nil clock means the system clock.
func NewInflight(clock Clock) *Inflight {
	if clock == nil {
		clock = systemClock{}
	}
	f := &Inflight{clock: clock}
	for i := range f.kinds {
		k := &f.kinds[i]
		k.waiting.overTime, k.executing.overTime, k.last = newHistogram(kindBounds), newHistogram(kindBounds), clock.Now()
	}
	return f
}

// Execute counts an executing request until Done is called. It returns the current number of
// them.
func (f *Inflight) Execute(mutates bool) int { return f.add(f.clock.Now(), mutates, 0, 1) }

// Done ends the request that Execute counted.
func (f *Inflight) Done(mutates bool) { f.add(f.clock.Now(), mutates, 0, -1) }

// add changes the numbers of waiting and executing requests, and returns the latter.
func (f *Inflight) add(now time.Time, mutates bool, waiting, executing int) int {
	k := &f.kinds[0]
	if mutates {
		k = &f.kinds[1]
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.advanceTo(now)
	k.waiting.n += waiting
	k.waiting.max = max(k.waiting.max, k.waiting.n)
	k.executing.n += executing
	k.executing.max = max(k.executing.max, k.executing.n)
	return k.executing.n
}

// advanceTo advances the time to now and updates the statistics over time.
func (k *requestCounts) advanceTo(now time.Time) {
	d := now.Sub(k.last)
	if d <= 0 {
		return // the clocks of processors may differ a little
	}
	seconds := now.Unix() - k.last.Unix()
	k.last = now
	for _, c := range [...]*requestCount{&k.waiting, &k.executing} {
		c.overTime.addPeriod(d, c.n, c.limit)
		switch seconds {
		case 0:
		case 1:
			c.previousMax, c.max = c.max, c.n
		default:
			c.previousMax, c.max = c.n, c.n
		}
	}
}

// setLimits sets the limits that utilization is measured against.
func (f *Inflight) setLimits(waiting, executing int) {
	for i := range f.kinds {
		k := &f.kinds[i]
		k.mu.Lock()
		k.waiting.limit, k.executing.limit = waiting, executing
		k.mu.Unlock()
	}
}

// Metric descriptions; they are immutable.
var (
	inflightMetrics metricset.Set

	inflightDesc = inflightMetrics.Desc("apiserver_current_inflight_requests",
		"[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in last second.",
		"request_kind")
	inqueueDesc = inflightMetrics.Desc("apiserver_current_inqueue_requests",
		"[ALPHA] Maximal number of queued requests in this apiserver per request kind in last second.", "request_kind")
	kindsDesc = inflightMetrics.Desc("apiserver_flowcontrol_read_vs_write_current_requests",
		"[ALPHA] Observations, at the end of every nanosecond, of the number of requests (as a fraction of the "+
			"relevant limit) waiting or in regular stage of execution", "phase", "request_kind")
)

// Describe implements prometheus.Collector.
func (f *Inflight) Describe(ch chan<- *prometheus.Desc) { inflightMetrics.Describe(ch) }

// Collect implements prometheus.Collector.
func (f *Inflight) Collect(ch chan<- prometheus.Metric) {
	now := f.clock.Now()
	for i, name := range [...]string{"readOnly", "mutating"} {
		k := &f.kinds[i]
		k.mu.Lock()
		k.advanceTo(now)
		metrics := []prometheus.Metric{
			prometheus.MustNewConstMetric(inflightDesc, prometheus.GaugeValue, float64(max(k.executing.previousMax, k.executing.max)), name),
			prometheus.MustNewConstMetric(inqueueDesc, prometheus.GaugeValue, float64(max(k.waiting.previousMax, k.waiting.max)), name),
			k.waiting.overTime.metric(kindsDesc, "waiting", name),
			k.executing.overTime.metric(kindsDesc, "executing", name),
		}
		k.mu.Unlock()
		for _, m := range metrics {
			ch <- m
		}
	}
}
