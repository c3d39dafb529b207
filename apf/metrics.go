package apf

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// metricsCollector reports the statistics of a Limiter under kube-apiserver's names. It reads
// the levels on collection, so that serving requests updates no metrics.
type metricsCollector struct{ l *Limiter }

// Label names of kube-apiserver's metrics.
var (
	serverLabels []string
	levelLabels  = []string{"priority_level"}
	flowLabels   = []string{"priority_level", "flow_schema"}
)

func newDesc(name, help string, labels []string, more ...string) *prometheus.Desc {
	return limiterMetrics.Desc("apiserver_flowcontrol_"+name, help, append(labels[:len(labels):len(labels)], more...)...)
}

// Metric descriptions; they are immutable.
var (
	limiterMetrics metricset.Set

	rejectedDesc = newDesc("rejected_requests_total",
		"[BETA] Number of requests rejected by API Priority and Fairness subsystem", flowLabels, "reason")
	dispatchedDesc = newDesc("dispatched_requests_total",
		"[BETA] Number of requests executed by API Priority and Fairness subsystem", flowLabels)
	blockedDesc = newDesc("request_dispatch_no_accommodation_total",
		"[ALPHA] Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats", flowLabels)
	inqueueReqDesc = newDesc("current_inqueue_requests",
		"[BETA] Number of requests currently pending in queues of the API Priority and Fairness subsystem", flowLabels)
	inqueueSeats = newDesc("current_inqueue_seats",
		"[ALPHA] Number of seats currently pending in queues of the API Priority and Fairness subsystem", flowLabels)
	executingReqs = newDesc("current_executing_requests",
		"[BETA] Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem", flowLabels)
	executingSeats = newDesc("current_executing_seats",
		"[BETA] Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem", flowLabels)
	lengthDesc = newDesc("request_queue_length_after_enqueue",
		"[ALPHA] Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued", flowLabels)
	waitDesc = newDesc("request_wait_duration_seconds",
		"[BETA] Length of time a request spent waiting in its queue", flowLabels, "execute")
	executionDesc = newDesc("request_execution_seconds",
		"[ALPHA] Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem", flowLabels, "type")
	watchersDesc = newDesc("watch_count_samples", "[ALPHA] count of watchers for mutating requests in API Priority and Fairness", flowLabels)
	seatsDesc    = newDesc("work_estimated_seats",
		"[ALPHA] Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness", flowLabels)

	usedDesc = newDesc("priority_level_seat_utilization",
		"[ALPHA] Observations, at the end of every nanosecond, of utilization of seats for any stage of execution (but only initial stage for WATCHes)", levelLabels, "phase")
	utilizationDesc = newDesc("priority_level_request_utilization",
		"[ALPHA] Observations, at the end of every nanosecond, of number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)", levelLabels, "phase")
	demandDesc = newDesc("demand_seats",
		"[ALPHA] Observations, at the end of every nanosecond, of (the number of seats each priority level could use) / (nominal number of seats for that level)", levelLabels)
	currentRDesc   = newDesc("current_r", "[ALPHA] R(time of last change)", levelLabels)
	dispatchRDesc  = newDesc("dispatch_r", "[ALPHA] R(time of last dispatch)", levelLabels)
	latestSDesc    = newDesc("latest_s", "[ALPHA] S(most recently dispatched request)", levelLabels)
	nextSDesc      = newDesc("next_s_bounds", "[ALPHA] min and max, over queues, of S(oldest waiting request in queue)", levelLabels, "bound")
	discountedDesc = newDesc("next_discounted_s_bounds",
		"[ALPHA] min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress", levelLabels, "bound")
	epochDesc = newDesc("epoch_advance_total",
		"[ALPHA] Number of times the queueset's progress meter jumped backward", levelLabels, "success")

	nominalDesc = newDesc("nominal_limit_seats", "[BETA] Nominal number of execution seats configured for each priority level", levelLabels)
	lowerDesc   = newDesc("lower_limit_seats",
		"[ALPHA] Configured lower bound on number of execution seats available to each priority level", levelLabels)
	upperDesc = newDesc("upper_limit_seats",
		"[ALPHA] Configured upper bound on number of execution seats available to each priority level", levelLabels)
	limitDesc = newDesc("current_limit_seats",
		"[ALPHA] current derived number of execution seats available to each priority level", levelLabels)
	highDesc      = newDesc("demand_seats_high_watermark", "[ALPHA] High watermark, over last adjustment period, of demand_seats", levelLabels)
	averageDesc   = newDesc("demand_seats_average", "[ALPHA] Time-weighted average, over last adjustment period, of demand_seats", levelLabels)
	deviationDesc = newDesc("demand_seats_stdev",
		"[ALPHA] Time-weighted standard deviation, over last adjustment period, of demand_seats", levelLabels)
	smoothedDesc = newDesc("demand_seats_smoothed", "[ALPHA] Smoothed seat demands", levelLabels)
	targetDesc   = newDesc("target_seats", "[ALPHA] Seat allocation targets", levelLabels)
	fairDesc     = newDesc("seat_fair_frac",
		"[ALPHA] Fair fraction of server's concurrency to allocate to each priority level that can use it", serverLabels)
)

// Describe implements prometheus.Collector.
func (c *metricsCollector) Describe(ch chan<- *prometheus.Desc) { limiterMetrics.Describe(ch) }

// Collect implements prometheus.Collector.
func (c *metricsCollector) Collect(ch chan<- prometheus.Metric) {
	l := c.l
	now := l.clock.Now()
	var out collectedMetrics
	l.mu.Lock()
	out.gauge(fairDesc, l.multiple)
	for name, v := range l.levels {
		out.level(name, v)
		v.set.mu.Lock()
		v.set.advanceTo(now)
		out.set(v.set)
		v.set.mu.Unlock()
	}
	for name, t := range l.past {
		out.history(name, &t)
		for schema, f := range t.flows {
			out.flow(f, flowLoad{}, name, schema)
		}
	}
	l.mu.Unlock()
	for _, m := range out {
		ch <- m
	}
}

// collectedMetrics collects metrics under locks, to be sent without them.
type collectedMetrics []prometheus.Metric

func (o *collectedMetrics) gauge(d *prometheus.Desc, v float64, labels ...string) {
	*o = append(*o, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
}

func (o *collectedMetrics) counter(d *prometheus.Desc, v uint64, labels ...string) {
	*o = append(*o, prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...))
}

func (o *collectedMetrics) histogram(d *prometheus.Desc, h *histogram, labels ...string) {
	*o = append(*o, h.metric(d, labels...))
}

// level appends the metrics of a level's configuration and last adjustment.
func (o *collectedMetrics) level(name string, v *level) {
	for _, g := range []struct {
		desc  *prometheus.Desc
		value float64
	}{
		{nominalDesc, float64(v.nominal)}, {lowerDesc, float64(v.min)}, {upperDesc, float64(v.seatLimits.max)}, {limitDesc, float64(v.seats)},
		{highDesc, float64(v.seen.max)}, {averageDesc, v.seen.mean()}, {deviationDesc, v.seen.deviation()},
		{smoothedDesc, v.forecast.smoothed}, {targetDesc, v.target()},
	} {
		o.gauge(g.desc, g.value, name)
	}
}

// history appends the histograms and counters of a level, which stay when it is removed.
func (o *collectedMetrics) history(name string, t *setStats) {
	o.histogram(usedDesc, &t.seatsUsed, name, "executing")
	o.histogram(utilizationDesc, &t.executors, name, "executing")
	o.histogram(utilizationDesc, &t.waiters, name, "waiting")
	o.histogram(demandDesc, &t.demanded, name)
	o.counter(epochDesc, t.rebases, name, "true")
}

// set appends the metrics of a level's state; the caller holds its lock.
func (o *collectedMetrics) set(s *queueSet) {
	t, name := &s.stats, s.level
	o.history(name, t)
	o.gauge(currentRDesc, s.r.seatSeconds(), name)
	o.gauge(dispatchRDesc, t.dispatchR.seatSeconds(), name)
	o.gauge(latestSDesc, t.latestS.seatSeconds(), name)
	low, high, discountedLow, discountedHigh := s.nextBounds()
	o.gauge(nextSDesc, low.seatSeconds(), name, "min")
	o.gauge(nextSDesc, high.seatSeconds(), name, "max")
	o.gauge(discountedDesc, discountedLow.seatSeconds(), name, "min")
	o.gauge(discountedDesc, discountedHigh.seatSeconds(), name, "max")
	loads := s.flowLoads()
	for schema, f := range t.flows {
		o.flow(f, loads[f], name, schema)
	}
}

func (o *collectedMetrics) flow(f *flowStats, load flowLoad, labels ...string) {
	with := func(more string) []string { return append(labels[:len(labels):len(labels)], more) }
	o.counter(dispatchedDesc, f.dispatched, labels...)
	o.gauge(inqueueReqDesc, float64(load.waiting), labels...)
	o.gauge(inqueueSeats, float64(load.seatsWaiting), labels...)
	o.gauge(executingReqs, float64(load.executing), labels...)
	o.gauge(executingSeats, float64(load.seatsExecuting), labels...)
	for reason, n := range f.rejections {
		o.counter(rejectedDesc, n, with(reason)...)
	}
	if f.blocked > 0 {
		o.counter(blockedDesc, f.blocked, labels...)
	}
	for _, h := range []struct {
		desc   *prometheus.Desc
		h      *histogram
		labels []string
	}{
		{lengthDesc, &f.lengths, labels}, {waitDesc, &f.waited[0], with("false")}, {waitDesc, &f.waited[1], with("true")},
		{executionDesc, &f.regular, with("regular")}, {executionDesc, &f.watch, with("watch")},
		{watchersDesc, &f.watchers, labels}, {seatsDesc, &f.seats, labels},
	} {
		if h.h.observed() { // a series begins with its first observation
			o.histogram(h.desc, h.h, h.labels...)
		}
	}
}

// nextBounds returns the smallest and largest S of the next requests of all queues, also
// reduced by the estimated work in progress. If nothing waits, all are R, with which a new
// request would begin.
func (s *queueSet) nextBounds() (low, high, discountedLow, discountedHigh work) {
	low, discountedLow = math.MaxInt64, math.MaxInt64
	high, discountedHigh = math.MinInt64, math.MinInt64
	for _, q := range s.active {
		if q.waiting.n == 0 {
			continue
		}
		discounted := q.next - workOf(q.seatsInUse, estimatedDuration)
		low, high = min(low, q.next), max(high, q.next)
		discountedLow, discountedHigh = min(discountedLow, discounted), max(discountedHigh, discounted)
	}
	if low > high {
		return s.r, s.r, s.r, s.r
	}
	return low, high, discountedLow, discountedHigh
}
