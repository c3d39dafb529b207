package reconcile

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// QueueMetrics are the metrics of the queues of control loops, with kube-apiserver's names and
// labels. It is safe for concurrent use.
type QueueMetrics struct {
	adds, retries               *prometheus.CounterVec
	queueDuration, workDuration *prometheus.HistogramVec
	depth, unfinished, longest  *prometheus.Desc
	set                         metricset.Set // has the metrics above

	mu     sync.Mutex
	queues map[queueState]string // the names of the queues
}

// queueState is the part of a queue that is read when the metrics are.
type queueState interface {
	// Len returns the number of keys that wait.
	Len() int
	// underway returns for how long all keys in work were worked on, and the longest one.
	underway() (sum, longest time.Duration)
}

// NewQueueMetrics returns metrics without queues.
func NewQueueMetrics() *QueueMetrics {
	buckets := prometheus.ExponentialBuckets(10e-9, 10, 12)
	m := &QueueMetrics{queues: map[queueState]string{}}
	m.adds = m.set.CounterVec("workqueue_adds_total", "[BETA] Number of keys that were added to a queue.", "name")
	m.retries = m.set.CounterVec("workqueue_retries_total",
		"[BETA] Number of keys that were added to a queue again after a delay.", "name")
	m.queueDuration = m.set.HistogramVec("workqueue_queue_duration_seconds",
		"[BETA] Time that keys waited in a queue, in seconds.", buckets, "name")
	m.workDuration = m.set.HistogramVec("workqueue_work_duration_seconds",
		"[BETA] Time that the work on a key of a queue took, in seconds.", buckets, "name")
	m.depth = m.set.Desc("workqueue_depth", "[BETA] Number of keys that wait in a queue.", "name")
	m.unfinished = m.set.Desc("workqueue_unfinished_work_seconds",
		"[BETA] Time that the work in progress on the keys of a queue has taken so far, in seconds. "+
			"It grows steadily if a worker is stuck.", "name")
	m.longest = m.set.Desc("workqueue_longest_running_processor_seconds",
		"[BETA] Time that the longest work in progress on a key of a queue has taken so far, in seconds.", "name")
	return m
}

// Describe implements prometheus.Collector.
func (m *QueueMetrics) Describe(ch chan<- *prometheus.Desc) { m.set.Describe(ch) }

// Collect implements prometheus.Collector.
func (m *QueueMetrics) Collect(ch chan<- prometheus.Metric) {
	m.set.Collect(ch)
	type state struct{ depth, unfinished, longest float64 }
	states := map[string]state{}
	m.mu.Lock()
	for q, name := range m.queues { // several queues may have one name
		sum, longest := q.underway()
		s := states[name]
		states[name] = state{s.depth + float64(q.Len()), s.unfinished + sum.Seconds(), max(s.longest, longest.Seconds())}
	}
	m.mu.Unlock()
	for name, s := range states {
		ch <- prometheus.MustNewConstMetric(m.depth, prometheus.GaugeValue, s.depth, name)
		ch <- prometheus.MustNewConstMetric(m.unfinished, prometheus.GaugeValue, s.unfinished, name)
		ch <- prometheus.MustNewConstMetric(m.longest, prometheus.GaugeValue, s.longest, name)
	}
}

// of returns the metrics of a queue with a name, and a function that ends the measurement. m may be nil.
func (m *QueueMetrics) of(name string, q queueState) (queueMetrics, func()) {
	if m == nil {
		return queueMetrics{}, func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues[q] = name
	return queueMetrics{
			adds:    m.set.LaterCounter(func() prometheus.Counter { return m.adds.WithLabelValues(name) }),
			retries: m.set.LaterCounter(func() prometheus.Counter { return m.retries.WithLabelValues(name) }),
			waited:  m.set.LaterObserver(func() prometheus.Observer { return m.queueDuration.WithLabelValues(name) }),
			worked:  m.set.LaterObserver(func() prometheus.Observer { return m.workDuration.WithLabelValues(name) }),
		}, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.queues, q)
		}
}
