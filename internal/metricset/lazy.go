package metricset

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// A series with labels takes a kilobyte, a summary 60, and most series of a server that lives for a short time are never
// read. Counter and Observer have the values of a series, and make it when the metrics of their Set are read for the
// first time.

// Counter is the counter of a series that is made later. It is safe for concurrent use.
type Counter struct {
	series func() prometheus.Counter
	made   atomic.Pointer[prometheus.Counter]

	mu    sync.Mutex
	count float64 // before the series was made
}

// LaterCounter returns a counter of a series, which the caller keeps: each call makes another counter, and all of them add to
// the series.
func (s *Set) LaterCounter(series func() prometheus.Counter) *Counter {
	c := &Counter{series: series}
	s.later(c)
	return c
}

// Inc adds one.
func (c *Counter) Inc() { c.Add(1) }

// Add adds a number that is not negative.
func (c *Counter) Add(n float64) {
	if made := c.made.Load(); made != nil {
		(*made).Add(n)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.made.Load(); made != nil {
		(*made).Add(n)
		return
	}
	c.count += n
}

func (c *Counter) make() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made.Load() != nil {
		return
	}
	series := c.series()
	series.Add(c.count)
	c.made.Store(&series)
}

// Observer is the observer of a series, of a histogram or a summary, that is made later. It is safe for concurrent use.
type Observer struct {
	series func() prometheus.Observer
	made   atomic.Pointer[prometheus.Observer]

	mu     sync.Mutex
	values []float64 // before the series was made
}

// maxValues is the number of values from which on a series is smaller than they are.
const maxValues = 64

// LaterObserver is LaterCounter for a series of a histogram or a summary.
func (s *Set) LaterObserver(series func() prometheus.Observer) *Observer {
	o := &Observer{series: series}
	s.later(o)
	return o
}

// Observe implements prometheus.Observer.
func (o *Observer) Observe(v float64) {
	if made := o.made.Load(); made != nil {
		(*made).Observe(v)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made.Load() == nil && len(o.values) < maxValues {
		o.values = append(o.values, v)
		return
	}
	o.makeLocked().Observe(v)
}

func (o *Observer) make() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.makeLocked()
}

// makeLocked makes and returns the series; the caller holds o.mu.
func (o *Observer) makeLocked() prometheus.Observer {
	if made := o.made.Load(); made != nil {
		return *made
	}
	series := o.series()
	for _, v := range o.values {
		series.Observe(v)
	}
	o.values = nil
	o.made.Store(&series)
	return series
}

// later has the next reading make a series.
func (s *Set) later(series interface{ make() }) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unmade = append(s.unmade, series)
}

// makeAll makes all series.
func (s *Set) makeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, series := range s.unmade {
		series.make()
	}
	s.unmade = nil
}
