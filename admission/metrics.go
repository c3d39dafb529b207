package admission

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// metrics holds the admission metrics, under kube-apiserver's names.
type metrics struct {
	controller, step *prometheus.HistogramVec
	summary          *prometheus.SummaryVec
	set              *metricset.Set
	latencies        map[[3]string]*latency // by plugin, which is empty for phases, verb and kind; used while a chain is made
}

// latencyBuckets are kube-apiserver's buckets for plugins and phases.
var latencyBuckets = []float64{0.005, 0.025, 0.1, 0.5, 1.0, 2.5}

// newMetrics creates the metrics and, unless reg is nil, registers them.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	set := &metricset.Set{}
	return &metrics{
		set: set, latencies: map[[3]string]*latency{},
		controller: set.HistogramVec("apiserver_admission_controller_admission_duration_seconds",
			"[STABLE] Admission controller latency histogram in seconds, identified by name and broken out "+
				"for each operation and API resource and type (validate or admit).",
			latencyBuckets, "name", "type", "operation", "rejected"),
		step: set.HistogramVec("apiserver_admission_step_admission_duration_seconds",
			"[STABLE] Admission sub-step latency histogram in seconds, broken out for each operation and API "+
				"resource and step type (validate or admit).", latencyBuckets, "type", "operation", "rejected"),
		summary: metricset.Add(set, prometheus.NewSummaryVec(prometheus.SummaryOpts{
			Name: "apiserver_admission_step_admission_duration_seconds_summary",
			Help: "[ALPHA] Admission sub-step latency summary in seconds, broken out for each operation and " +
				"API resource and step type (validate or admit).",
			Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001}, MaxAge: 5 * time.Hour,
		}, []string{"type", "operation", "rejected"})),
	}, set.Register(reg)
}

// plugin returns the latency of a plugin.
func (m *metrics) plugin(name, verb, kind string) *latency {
	operation := strings.ToUpper(verb)
	return m.latency([3]string{name, verb, kind}, func(rejected string) []prometheus.Observer {
		return []prometheus.Observer{m.later(m.controller, name, kind, operation, rejected)}
	})
}

// phase returns the latency of a phase.
func (m *metrics) phase(verb, kind string) *latency {
	operation := strings.ToUpper(verb)
	return m.latency([3]string{"", verb, kind}, func(rejected string) []prometheus.Observer {
		return []prometheus.Observer{m.later(m.step, kind, operation, rejected), m.later(m.summary, kind, operation, rejected)}
	})
}

// later returns the observer of a series of v.
func (m *metrics) later(v prometheus.ObserverVec, labels ...string) prometheus.Observer {
	return m.set.LaterObserver(func() prometheus.Observer { return v.WithLabelValues(labels...) })
}

// latency observes the duration of a call by whether it was rejected.
type latency struct{ admitted, rejected func() []prometheus.Observer }

// latency returns the latency of a key, with these observers for the two values of the label rejected. They are
// looked up once, because a lookup by labels costs more than an observation, and at the first
// observation, because most calls of a server never happen.
func (m *metrics) latency(key [3]string, observers func(rejected string) []prometheus.Observer) *latency {
	l := m.latencies[key]
	if l == nil {
		l = &latency{
			admitted: sync.OnceValue(func() []prometheus.Observer { return observers("false") }),
			rejected: sync.OnceValue(func() []prometheus.Observer { return observers("true") }),
		}
		m.latencies[key] = l
	}
	return l
}

func (l *latency) observe(d time.Duration, err error) {
	observers := l.admitted
	if err != nil {
		observers = l.rejected
	}
	for _, x := range observers() {
		x.Observe(d.Seconds())
	}
}
