package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A sighting is a kind of watch whose events are measured.
type sighting int

const (
	byKubelet  sighting = iota // watches of the objects of a node
	byInformer                 // watches of all objects of a kind
	sightingCount
)

// recorder has the latencies and the failures of a run. Those of an interval are separate until the
// interval ends.
type recorder struct {
	mu        sync.Mutex
	latencies [operationCount]series
	lags      [sightingCount]series
	failures  map[string]int
	failed    int
}

// series are the durations since the start of the measurement.
type series struct{ total, interval histogram }

func newRecorder() *recorder { return &recorder{failures: map[string]int{}} }

// took records the duration of a successful request.
func (r *recorder) took(o operation, d time.Duration) {
	r.mu.Lock()
	r.latencies[o].interval.add(d)
	r.mu.Unlock()
}

// lagged records the time from a write to its event on n watches.
func (r *recorder) lagged(s sighting, d time.Duration, n int) {
	r.mu.Lock()
	for range n {
		r.lags[s].interval.add(d)
	}
	r.mu.Unlock()
}

// digits are replaced in messages, so that those about different objects count as one.
var digits = regexp.MustCompile(`[0-9]+`)

// fail records a failure, unless the run has ended.
func (r *recorder) fail(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	const longest = 300
	text := digits.ReplaceAllString(what+": "+err.Error(), "N")
	r.mu.Lock()
	r.failed++
	r.failures[text[:min(len(text), longest)]]++
	r.mu.Unlock()
}

// restart forgets all durations, but no failures.
func (r *recorder) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies, r.lags = [operationCount]series{}, [sightingCount]series{}
}

// endInterval adds the interval to the total and returns it.
func (r *recorder) endInterval() *measured {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &measured{failed: r.failed}
	for i := range r.latencies {
		m.latencies[i] = r.latencies[i].end()
	}
	for i := range r.lags {
		m.lags[i] = r.lags[i].end()
	}
	return m
}

func (s *series) end() histogram {
	ended := s.interval
	s.total.merge(&ended)
	s.interval = histogram{}
	return ended
}

// total returns everything since the start of the measurement.
func (r *recorder) total() *measured {
	r.endInterval()
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &measured{failed: r.failed}
	for i := range r.latencies {
		m.latencies[i] = r.latencies[i].total
	}
	for i := range r.lags {
		m.lags[i] = r.lags[i].total
	}
	return m
}

// measured are the durations of a time.
type measured struct {
	latencies [operationCount]histogram
	lags      [sightingCount]histogram
	failed    int // since the start of the run
}

// class returns the latencies of a class.
func (m *measured) class(c class) *histogram {
	h := &histogram{}
	for o := range m.latencies {
		if operations[o].class == c {
			h.merge(&m.latencies[o])
		}
	}
	return h
}

// requests returns the number of requests of all classes.
func (m *measured) requests() (n uint64) {
	for o := range m.latencies {
		if operations[o].class != unclassified {
			n += m.latencies[o].n
		}
	}
	return n
}

// count returns the number of failures.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// printFailures prints the number of failures, if there are any, and the most frequent ones.
func (r *recorder) printFailures(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for text, n := range r.failures {
		lines = append(lines, fmt.Sprintf("%7d times %s", n, text))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(b, a) })
	for _, line := range lines[:min(len(lines), 20)] {
		fmt.Fprintln(w, line)
	}
	if r.failed > 0 {
		fmt.Fprintf(w, "%d FAILURES\n", r.failed)
	}
}
