package main

import (
	"fmt"
	"time"
)

// limits are the service level objectives of the classes, for the 99th percentile. Those of requests are
// Kubernetes' own; that of watches is this project's.
var limits = []struct {
	name  string
	limit time.Duration
	of    func(m *measured) *histogram
}{
	{"writes", time.Second, func(m *measured) *histogram { return m.class(mutating) }},
	{"gets", time.Second, func(m *measured) *histogram { return m.class(getting) }},
	{"lists of a namespace", 5 * time.Second, func(m *measured) *histogram { return m.class(listingNamespace) }},
	{"pages of all pods", 30 * time.Second, func(m *measured) *histogram { return m.class(listingPage) }},
	{"lists of all pods", 30 * time.Second, func(m *measured) *histogram { return m.class(listingAll) }},
	{"watch lag, kubelets", lagLimit, func(m *measured) *histogram { return &m.lags[byKubelet] }},
	{"watch lag, informers", lagLimit, func(m *measured) *histogram { return &m.lags[byInformer] }},
}

// lagLimit is the limit for the time from the response to a write to its event.
const lagLimit = 200 * time.Millisecond

const (
	// leastShare is the share of the planned requests below which the load was not that of the plan.
	leastShare = 0.95
	// fewRequests is a number of requests that may be missing anyway: those that take part of the time.
	fewRequests = 5
)

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// report prints the result of the steady phase. It reports whether the load was that of the plan.
func (r *run) report(m *measured, before, after usage) (ok bool) {
	took := after.at.Sub(before.at)
	server, driver := after.cores(before)
	fmt.Fprintf(r.out, "\nsteady for %v: server %.3f cores, driver %.3f cores and %d MB; "+
		"RSS of the server at most %d MB, %d MB at the end\n",
		took.Round(time.Second), server, driver, after.driverRSS>>20, r.maxRSS>>20, after.rss>>20)
	fmt.Fprintf(r.out, "%d requests, %.1f per second; %d watches began again\n", m.requests(),
		float64(m.requests())/took.Seconds(), m.latencies[openWatch].n)
	r.printParts(before, after)

	fmt.Fprintf(r.out, "\n%-*s %9s %9s %9s %9s %9s\n", longestName, "", "number", "p50 ms", "p99 ms", "max ms", "SLO")
	for _, l := range limits {
		h := l.of(m)
		verdict := "holds"
		switch {
		case h.n == 0:
			verdict = "not measured"
		case h.percentile(99) > l.limit:
			verdict = "MISSED"
		}
		fmt.Fprintf(r.out, "%-*s %9d %9.1f %9.1f %9.1f %9v %s\n", longestName, l.name, h.n, ms(h.percentile(50)),
			ms(h.percentile(99)), ms(h.max), l.limit, verdict)
	}

	ok = true
	fmt.Fprintf(r.out, "\n%-*s %9s %9s %9s %9s %9s\n", longestName, "", "number", "p50 ms", "p99 ms", "max ms", "per s")
	for o := range m.latencies {
		h := &m.latencies[o]
		planned := r.rates[o] * took.Seconds()
		if operations[o].class == unclassified {
			continue
		}
		fmt.Fprintf(r.out, "%-*s %9d %9.1f %9.1f %9.1f %9.2f", longestName, operations[o].name, h.n,
			ms(h.percentile(50)), ms(h.percentile(99)), ms(h.max), float64(h.n)/took.Seconds())
		if float64(h.n) < leastShare*planned-fewRequests {
			fmt.Fprintf(r.out, " TOO FEW, planned %.2f", r.rates[o])
			ok = false
		}
		fmt.Fprintln(r.out)
	}
	return ok
}

// printFillLine prints a line about the fill between two usages.
func (r *run) printFillLine(after time.Duration, since, now usage) {
	h := &r.rec.endInterval().latencies[fill]
	if h.n == 0 {
		return
	}
	fmt.Fprintf(r.out, "filling %8v: %7d MB, %6.0f writes per second, %.3f ms of the server's CPU each, p99 %.1f ms\n",
		after.Round(time.Second), now.rss>>20, float64(h.n)/now.at.Sub(since.at).Seconds(),
		ms(now.cpu-since.cpu)/float64(h.n), ms(h.percentile(99)))
}

// printLineHead prints the head of the lines of the steady phase.
func (r *run) printLineHead() {
	fmt.Fprintf(r.out, "\n%8s %8s %8s %8s %10s %10s %10s %10s %10s %9s\n", "after", "RSS MB", "cores", "driver",
		"write p99", "get p99", "list p99", "lag p99", "requests/s", "failures")
}

// printLine prints a line about the time between two usages.
func (r *run) printLine(after time.Duration, since, now usage) {
	m := r.rec.endInterval()
	server, driver := now.cores(since)
	lag := m.lags[byKubelet]
	lag.merge(&m.lags[byInformer])
	fmt.Fprintf(r.out, "%8v %8d %8.3f %8.3f %10.1f %10.1f %10.1f %10.1f %10.1f %9d\n", after.Round(time.Second),
		now.rss>>20, server, driver,
		ms(m.class(mutating).percentile(99)), ms(m.class(getting).percentile(99)),
		ms(m.class(listingNamespace).percentile(99)), ms(lag.percentile(99)),
		float64(m.requests())/now.at.Sub(since.at).Seconds(), m.failed)
}
