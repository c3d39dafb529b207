package apf

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
)

// collector shows what a Limiter measures, with kube-apiserver's names. Nothing
// is written for it while requests are served: it looks at the levels when
// somebody asks.
type collector struct{ l *Limiter }

// Labels that kube-apiserver gives its metrics.
var (
	ofServer []string
	ofLevel  = []string{"priority_level"}
	ofFlow   = []string{"priority_level", "flow_schema"}
)

func describe(name, help string, labels []string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("apiserver_flowcontrol_"+name, help, append(labels[:len(labels):len(labels)], more...), nil)
}

// Descriptions of metrics, which are values and never change.
var (
	rejectedDesc   = describe("rejected_requests_total", "Number of requests rejected by API Priority and Fairness subsystem", ofFlow, "reason")
	dispatchedDesc = describe("dispatched_requests_total", "Number of requests executed by API Priority and Fairness subsystem", ofFlow)
	blockedDesc    = describe("request_dispatch_no_accommodation_total", "Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats", ofFlow)
	inqueueReqDesc = describe("current_inqueue_requests", "Number of requests currently pending in queues of the API Priority and Fairness subsystem", ofFlow)
	inqueueSeats   = describe("current_inqueue_seats", "Number of seats currently pending in queues of the API Priority and Fairness subsystem", ofFlow)
	executingReqs  = describe("current_executing_requests", "Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem", ofFlow)
	executingSeats = describe("current_executing_seats", "Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem", ofFlow)
	lengthDesc     = describe("request_queue_length_after_enqueue", "Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued", ofFlow)
	waitDesc       = describe("request_wait_duration_seconds", "Length of time a request spent waiting in its queue", ofFlow, "execute")
	executionDesc  = describe("request_execution_seconds", "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem", ofFlow, "type")
	watchersDesc   = describe("watch_count_samples", "count of watchers for mutating requests in API Priority and Fairness", ofFlow)
	seatsDesc      = describe("work_estimated_seats", "Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness", ofFlow)

	usedDesc        = describe("priority_level_seat_utilization", "Observations, at the end of every nanosecond, of utilization of seats for any stage of execution (but only initial stage for WATCHes)", ofLevel, "phase")
	utilizationDesc = describe("priority_level_request_utilization", "Observations, at the end of every nanosecond, of number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)", ofLevel, "phase")
	demandDesc      = describe("demand_seats", "Observations, at the end of every nanosecond, of (the number of seats each priority level could use) / (nominal number of seats for that level)", ofLevel)
	currentRDesc    = describe("current_r", "R(time of last change)", ofLevel)
	dispatchRDesc   = describe("dispatch_r", "R(time of last dispatch)", ofLevel)
	latestSDesc     = describe("latest_s", "S(most recently dispatched request)", ofLevel)
	nextSDesc       = describe("next_s_bounds", "min and max, over queues, of S(oldest waiting request in queue)", ofLevel, "bound")
	discountedDesc  = describe("next_discounted_s_bounds", "min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress", ofLevel, "bound")
	epochDesc       = describe("epoch_advance_total", "Number of times the queueset's progress meter jumped backward", ofLevel, "success")

	nominalDesc   = describe("nominal_limit_seats", "Nominal number of execution seats configured for each priority level", ofLevel)
	lowerDesc     = describe("lower_limit_seats", "Configured lower bound on number of execution seats available to each priority level", ofLevel)
	upperDesc     = describe("upper_limit_seats", "Configured upper bound on number of execution seats available to each priority level", ofLevel)
	limitDesc     = describe("current_limit_seats", "current derived number of execution seats available to each priority level", ofLevel)
	highDesc      = describe("demand_seats_high_watermark", "High watermark, over last adjustment period, of demand_seats", ofLevel)
	averageDesc   = describe("demand_seats_average", "Time-weighted average, over last adjustment period, of demand_seats", ofLevel)
	deviationDesc = describe("demand_seats_stdev", "Time-weighted standard deviation, over last adjustment period, of demand_seats", ofLevel)
	smoothedDesc  = describe("demand_seats_smoothed", "Smoothed seat demands", ofLevel)
	targetDesc    = describe("target_seats", "Seat allocation targets", ofLevel)
	fairDesc      = describe("seat_fair_frac", "Fair fraction of server's concurrency to allocate to each priority level that can use it", ofServer)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		rejectedDesc, dispatchedDesc, blockedDesc, inqueueReqDesc, inqueueSeats, executingReqs, executingSeats, lengthDesc, waitDesc,
		executionDesc, watchersDesc, seatsDesc, usedDesc, utilizationDesc, demandDesc, currentRDesc, dispatchRDesc, latestSDesc,
		nextSDesc, discountedDesc, epochDesc, nominalDesc, lowerDesc, upperDesc, limitDesc, highDesc, averageDesc, deviationDesc,
		smoothedDesc, targetDesc, fairDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	l := c.l
	now := l.clock.Now()
	var out metricsOut
	l.mu.Lock()
	out.gauge(fairDesc, l.multiple)
	for name, v := range l.levels {
		out.level(name, v)
		v.set.mu.Lock()
		v.set.pass(now)
		out.set(v.set)
		v.set.mu.Unlock()
	}
	l.mu.Unlock()
	for _, m := range out {
		ch <- m
	}
}

// metricsOut is what was collected under locks, to be sent without.
type metricsOut []prometheus.Metric

func (o *metricsOut) gauge(d *prometheus.Desc, v float64, labels ...string) {
	*o = append(*o, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
}

func (o *metricsOut) counter(d *prometheus.Desc, v uint64, labels ...string) {
	*o = append(*o, prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...))
}

func (o *metricsOut) histogram(d *prometheus.Desc, h *histogram, labels ...string) {
	*o = append(*o, h.metric(d, labels...))
}

// level is what the configuration and the last adjustment made of a level.
func (o *metricsOut) level(name string, v *level) {
	for _, g := range []struct {
		desc  *prometheus.Desc
		value float64
	}{
		{nominalDesc, float64(v.nominal)}, {lowerDesc, float64(v.least)}, {upperDesc, float64(v.bounds.most)}, {limitDesc, float64(v.seats)},
		{highDesc, float64(v.seen.most)}, {averageDesc, v.seen.mean()}, {deviationDesc, v.seen.deviation()},
		{smoothedDesc, v.outlook.smoothed}, {targetDesc, v.target()},
	} {
		o.gauge(g.desc, g.value, name)
	}
}

// set is what goes on in a level; its lock is held.
func (o *metricsOut) set(s *queueSet) {
	t, name := &s.stats, s.level
	o.histogram(usedDesc, &t.seatsUsed, name, "executing")
	o.histogram(utilizationDesc, &t.executors, name, "executing")
	o.histogram(utilizationDesc, &t.waiters, name, "waiting")
	o.histogram(demandDesc, &t.demanded, name)
	o.gauge(currentRDesc, s.r.seatSeconds(), name)
	o.gauge(dispatchRDesc, t.dispatchR.seatSeconds(), name)
	o.gauge(latestSDesc, t.latestS.seatSeconds(), name)
	o.counter(epochDesc, t.epochs, name, "true")
	low, high, discountedLow, discountedHigh := s.nextBounds()
	o.gauge(nextSDesc, low.seatSeconds(), name, "min")
	o.gauge(nextSDesc, high.seatSeconds(), name, "max")
	o.gauge(discountedDesc, discountedLow.seatSeconds(), name, "min")
	o.gauge(discountedDesc, discountedHigh.seatSeconds(), name, "max")
	for schema, f := range t.flows {
		o.flow(f, name, schema)
	}
}

func (o *metricsOut) flow(f *flowStats, labels ...string) {
	with := func(more string) []string { return append(labels[:len(labels):len(labels)], more) }
	o.counter(dispatchedDesc, f.dispatched, labels...)
	o.gauge(inqueueReqDesc, float64(f.waiting), labels...)
	o.gauge(inqueueSeats, float64(f.seatsWaiting), labels...)
	o.gauge(executingReqs, float64(f.executing), labels...)
	o.gauge(executingSeats, float64(f.seatsExecuting), labels...)
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
		if h.h.observed() { // as with others, a series begins with its first observation
			o.histogram(h.desc, h.h, h.labels...)
		}
	}
}

// nextBounds are the least and the largest S of requests that are next in their
// queues, also less the work that is guessed to be in progress. Where nothing
// waits it is what a request would begin with.
func (s *queueSet) nextBounds() (low, high, discountedLow, discountedHigh work) {
	low, discountedLow = math.MaxInt64, math.MaxInt64
	high, discountedHigh = math.MinInt64, math.MinInt64
	for _, q := range s.active {
		if q.waiting.n == 0 {
			continue
		}
		discounted := q.next - workOf(q.seatsInUse, guess)
		low, high = min(low, q.next), max(high, q.next)
		discountedLow, discountedHigh = min(discountedLow, discounted), max(discountedHigh, discounted)
	}
	if low > high {
		return s.r, s.r, s.r, s.r
	}
	return low, high, discountedLow, discountedHigh
}
