package apf

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// IsMutating reports whether requests with the verb may change objects.
func IsMutating(verb string) bool {
	switch verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// Inflight counts the executing and waiting requests of a server, separately for reading and
// mutating ones. It is safe for concurrent use.
type Inflight struct {
	clock Clock
	kinds [2]requestCounts // reading, mutating
}

// requestCounts has the counts of either the reading or the mutating requests.
type requestCounts struct {
	mu                           sync.Mutex // guards the fields below
	last                         time.Time
	waiting, executing           watermark
	waitingLimit, executingLimit int
	waits, executes              histogram
}

// watermark is a number and its maximum in the current second and in the previous one.
type watermark struct {
	n, max, previousMax int
	second              int64
}

func (w *watermark) add(now time.Time, delta int) {
	w.roll(now)
	w.n += delta
	w.max = max(w.max, w.n)
}

func (w *watermark) roll(now time.Time) {
	switch second := now.Unix(); {
	case second == w.second:
	case second == w.second+1:
		w.second, w.previousMax, w.max = second, w.max, w.n
	default:
		w.second, w.previousMax, w.max = second, w.n, w.n
	}
}

// NewInflight returns an Inflight without requests. A nil clock means the system clock.
func NewInflight(clock Clock) *Inflight {
	if clock == nil {
		clock = systemClock{}
	}
	f := &Inflight{clock: clock}
	for i := range f.kinds {
		k := &f.kinds[i]
		k.waits, k.executes, k.last = newHistogram(kindBounds), newHistogram(kindBounds), clock.Now()
	}
	return f
}

// Execute counts an executing request until Done is called. It returns the current number of
// them.
func (f *Inflight) Execute(mutates bool) int { return f.executes(f.clock.Now(), mutates) }

// Done ends the request that Execute counted.
func (f *Inflight) Done(mutates bool) { f.done(f.clock.Now(), mutates) }

func (f *Inflight) executes(now time.Time, mutates bool) int { return f.add(now, mutates, 0, 1) }
func (f *Inflight) done(now time.Time, mutates bool)         { f.add(now, mutates, 0, -1) }
func (f *Inflight) waits(now time.Time, mutates bool)        { f.add(now, mutates, 1, 0) }
func (f *Inflight) cancelled(now time.Time, mutates bool)    { f.add(now, mutates, -1, 0) }
func (f *Inflight) stopsWaiting(now time.Time, mutates bool) { f.add(now, mutates, -1, 1) }

func (f *Inflight) kind(mutates bool) *requestCounts {
	if mutates {
		return &f.kinds[1]
	}
	return &f.kinds[0]
}

func (f *Inflight) add(now time.Time, mutates bool, waiting, executing int) int {
	k := f.kind(mutates)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.advanceTo(now)
	if waiting != 0 {
		k.waiting.add(now, waiting)
	}
	if executing != 0 {
		k.executing.add(now, executing)
	}
	return k.executing.n
}

func (k *requestCounts) advanceTo(now time.Time) {
	if d := now.Sub(k.last); d > 0 {
		k.waits.addPeriod(d, k.waiting.n, k.waitingLimit)
		k.executes.addPeriod(d, k.executing.n, k.executingLimit)
		k.last = now
	}
}

// setLimits sets the limits that utilization is measured against.
func (f *Inflight) setLimits(waiting, executing int) {
	for i := range f.kinds {
		k := &f.kinds[i]
		k.mu.Lock()
		k.waitingLimit, k.executingLimit = waiting, executing
		k.mu.Unlock()
	}
}

// Metric descriptions; they are immutable.
var (
	inflightDesc = prometheus.NewDesc("apiserver_current_inflight_requests",
		"Maximal number of currently used inflight request limit of this apiserver per request kind in last second.", []string{"request_kind"}, nil)
	inqueueDesc = prometheus.NewDesc("apiserver_current_inqueue_requests",
		"Maximal number of queued requests in this apiserver per request kind in last second.", []string{"request_kind"}, nil)
	kindsDesc = prometheus.NewDesc("apiserver_flowcontrol_read_vs_write_current_requests",
		"Observations, at the end of every nanosecond, of the number of requests (as a fraction of the relevant limit) waiting or in regular stage of execution",
		[]string{"phase", "request_kind"}, nil)
)

// Describe implements prometheus.Collector.
func (f *Inflight) Describe(ch chan<- *prometheus.Desc) {
	ch <- inflightDesc
	ch <- inqueueDesc
	ch <- kindsDesc
}

// Collect implements prometheus.Collector.
func (f *Inflight) Collect(ch chan<- prometheus.Metric) {
	now := f.clock.Now()
	for i, name := range [...]string{"readOnly", "mutating"} {
		k := &f.kinds[i]
		k.mu.Lock()
		k.advanceTo(now)
		k.waiting.roll(now)
		k.executing.roll(now)
		metrics := []prometheus.Metric{
			prometheus.MustNewConstMetric(inflightDesc, prometheus.GaugeValue, float64(max(k.executing.previousMax, k.executing.max)), name),
			prometheus.MustNewConstMetric(inqueueDesc, prometheus.GaugeValue, float64(max(k.waiting.previousMax, k.waiting.max)), name),
			k.waits.metric(kindsDesc, "waiting", name),
			k.executes.metric(kindsDesc, "executing", name),
		}
		k.mu.Unlock()
		for _, m := range metrics {
			ch <- m
		}
	}
}
