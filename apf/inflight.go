package apf

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Mutates tells whether requests of a verb may change something.
func Mutates(verb string) bool {
	switch verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// Inflight counts the requests of a server that execute and that wait, by
// whether they change something. It is safe for concurrent use.
type Inflight struct {
	clock Clock
	kinds [2]kindOfRequests // reading, mutating
}

// kindOfRequests are the requests of one kind.
type kindOfRequests struct {
	mu   sync.Mutex // guards what follows
	last time.Time
	// waiting and executing are counted, with the most that there were.
	waiting, executing watermark
	// limits are what there may be at most.
	mostWaiting, mostExecuting int
	waits, executes            histogram
}

// watermark is a number and what it was at most, in this second and in the one
// before.
type watermark struct {
	n, most, before int
	second          int64
}

func (w *watermark) add(now time.Time, delta int) {
	w.roll(now)
	w.n += delta
	w.most = max(w.most, w.n)
}

func (w *watermark) roll(now time.Time) {
	switch second := now.Unix(); {
	case second == w.second:
	case second == w.second+1:
		w.second, w.before, w.most = second, w.most, w.n
	default:
		w.second, w.before, w.most = second, w.n, w.n
	}
}

// NewInflight makes an Inflight.
func NewInflight(clock Clock) *Inflight {
	if clock == nil {
		clock = wallClock{}
	}
	f := &Inflight{clock: clock}
	for i := range f.kinds {
		k := &f.kinds[i]
		k.waits, k.executes, k.last = newHistogram(kindBounds), newHistogram(kindBounds), clock.Now()
	}
	return f
}

// Execute counts a request that executes; the caller calls Done at its end. It
// returns how many execute now.
func (f *Inflight) Execute(mutates bool) int { return f.executes(f.clock.Now(), mutates) }

// Done is the end of what Execute began.
func (f *Inflight) Done(mutates bool) { f.done(f.clock.Now(), mutates) }

func (f *Inflight) executes(now time.Time, mutates bool) int { return f.add(now, mutates, 0, 1) }
func (f *Inflight) done(now time.Time, mutates bool)         { f.add(now, mutates, 0, -1) }
func (f *Inflight) waits(now time.Time, mutates bool)        { f.add(now, mutates, 1, 0) }
func (f *Inflight) gaveUp(now time.Time, mutates bool)       { f.add(now, mutates, -1, 0) }
func (f *Inflight) stopsWaiting(now time.Time, mutates bool) { f.add(now, mutates, -1, 1) }

func (f *Inflight) kind(mutates bool) *kindOfRequests {
	if mutates {
		return &f.kinds[1]
	}
	return &f.kinds[0]
}

func (f *Inflight) add(now time.Time, mutates bool, waiting, executing int) int {
	k := f.kind(mutates)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pass(now)
	if waiting != 0 {
		k.waiting.add(now, waiting)
	}
	if executing != 0 {
		k.executing.add(now, executing)
	}
	return k.executing.n
}

func (k *kindOfRequests) pass(now time.Time) {
	if d := now.Sub(k.last); d > 0 {
		k.waits.pass(d, k.waiting.n, k.mostWaiting)
		k.executes.pass(d, k.executing.n, k.mostExecuting)
		k.last = now
	}
}

// setLimits says how many requests may wait and execute at most.
func (f *Inflight) setLimits(waiting, executing int) {
	for i := range f.kinds {
		k := &f.kinds[i]
		k.mu.Lock()
		k.mostWaiting, k.mostExecuting = waiting, executing
		k.mu.Unlock()
	}
}

// Descriptions of metrics, which are values and never change.
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
		k.pass(now)
		k.waiting.roll(now)
		k.executing.roll(now)
		metrics := []prometheus.Metric{
			prometheus.MustNewConstMetric(inflightDesc, prometheus.GaugeValue, float64(max(k.executing.before, k.executing.most)), name),
			prometheus.MustNewConstMetric(inqueueDesc, prometheus.GaugeValue, float64(max(k.waiting.before, k.waiting.most)), name),
			k.waits.metric(kindsDesc, "waiting", name),
			k.executes.metric(kindsDesc, "executing", name),
		}
		k.mu.Unlock()
		for _, m := range metrics {
			ch <- m
		}
	}
}
