package reconcile

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"

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

// newQueue returns a queue with a name that m measures, unless m is nil, and a function that
// ends the measurement.
func newQueue[K comparable](m *QueueMetrics, name string, limiter workqueue.TypedRateLimiter[K],
	now func() time.Time) (workqueue.TypedRateLimitingInterface[K], func()) {
	if m == nil {
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[K]{Name: name}), func() {}
	}
	q := &measuredQueue[K]{
		TypedInterface: workqueue.NewTyped[K](), now: now, added: map[K]time.Time{}, begun: map[K]time.Time{},
		adds: m.adds.WithLabelValues(name), waited: m.queueDuration.WithLabelValues(name), worked: m.workDuration.WithLabelValues(name),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues[q] = name
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{Name: name, Queue: q})
	limited := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[K]{Name: name, DelayingQueue: delaying})
	return &countedRetries[K]{limited, m.retries.WithLabelValues(name)}, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.queues, q)
	}
}

// countedRetries counts the keys that are added after a delay.
type countedRetries[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
	retries prometheus.Counter
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *countedRetries[K]) AddRateLimited(key K) {
	q.retries.Inc()
	q.TypedRateLimitingInterface.AddRateLimited(key)
}

// AddAfter implements workqueue.TypedRateLimitingInterface.
func (q *countedRetries[K]) AddAfter(key K, d time.Duration) {
	q.retries.Inc()
	q.TypedRateLimitingInterface.AddAfter(key, d)
}

// measuredQueue measures how long keys wait and how long the work on them takes.
type measuredQueue[K comparable] struct {
	workqueue.TypedInterface[K]
	now            func() time.Time
	adds           prometheus.Counter
	waited, worked prometheus.Observer

	mu           sync.Mutex
	added, begun map[K]time.Time // keys that wait, and keys in work
}

// Add implements workqueue.TypedInterface.
func (q *measuredQueue[K]) Add(key K) {
	q.mu.Lock()
	if _, waits := q.added[key]; !waits && !q.ShuttingDown() {
		q.added[key] = q.now()
		q.adds.Inc()
	}
	q.mu.Unlock()
	q.TypedInterface.Add(key)
}

// Get implements workqueue.TypedInterface.
func (q *measuredQueue[K]) Get() (K, bool) {
	key, shutdown := q.TypedInterface.Get()
	if shutdown {
		return key, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	if added, waited := q.added[key]; waited {
		q.waited.Observe(now.Sub(added).Seconds())
		delete(q.added, key)
	}
	q.begun[key] = now
	return key, false
}

// Done implements workqueue.TypedInterface.
func (q *measuredQueue[K]) Done(key K) {
	q.mu.Lock()
	if begun, ok := q.begun[key]; ok {
		q.worked.Observe(q.now().Sub(begun).Seconds())
		delete(q.begun, key)
	}
	q.mu.Unlock()
	q.TypedInterface.Done(key)
}

// underway implements queueState.
func (q *measuredQueue[K]) underway() (sum, longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, begun := range q.begun {
		d := q.now().Sub(begun)
		sum, longest = sum+d, max(longest, d)
	}
	return sum, longest
}
