package reconcile

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Adder takes the keys to sync. It is safe for concurrent use.
type Adder[K comparable] interface {
	Add(key K)
}

// Queue is the queue of a Loop. A key is in it at most once, and is synced by one worker at a time: a key that is
// added while it is synced is synced again. A worker is a goroutine that exists while there are keys, so that a
// loop without work has none. It is safe for concurrent use.
type Queue[K comparable] struct {
	ctx     context.Context // ends the queue
	log     *slog.Logger
	name    string
	now     func() time.Time
	sync    func(context.Context, K) // ends with calls of retry, forget or AddAfter
	limit   int                      // maximum number of workers
	backoff BackoffRange
	metrics queueMetrics

	wg sync.WaitGroup // of the workers

	mu       sync.Mutex
	ready    []K             // keys to sync, in order; none of them is in begun
	added    map[K]time.Time // those of ready, and those of begun that were added again
	begun    map[K]time.Time // keys in work
	delayed  map[K]*delayedKey
	failures map[K]int // failures since the last success
	workers  int
	ended    bool
}

// delayedKey is a key that is added at a time.
type delayedKey struct {
	at    time.Time
	timer *time.Timer
}

// queueMetrics are the metrics of one queue; nil measures nothing.
type queueMetrics struct {
	adds, retries  *metricset.Counter
	waited, worked *metricset.Observer
}

// Add adds a key, unless it waits already.
func (q *Queue[K]) Add(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(key)
}

// addLocked is Add for callers that hold q.mu.
func (q *Queue[K]) addLocked(key K) {
	if _, waits := q.added[key]; waits || q.ended {
		return
	}
	if q.added == nil {
		q.added, q.begun = map[K]time.Time{}, map[K]time.Time{}
	}
	q.added[key] = q.now()
	if q.metrics.adds != nil {
		q.metrics.adds.Inc()
	}
	if _, works := q.begun[key]; !works {
		q.readyLocked(key)
	}
}

// readyLocked gives a key to a worker; the caller holds q.mu.
func (q *Queue[K]) readyLocked(key K) {
	q.ready = append(q.ready, key)
	if q.workers >= q.limit {
		return
	}
	q.workers++
	q.wg.Go(func() { recovery.RestartOnPanic(q.ctx, q.log, q.name, q.work) })
}

// AddAfter adds a key after a time. Of several times for a key, the first one counts.
func (q *Queue[K]) AddAfter(key K, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addAfterLocked(key, d)
}

// addAfterLocked is AddAfter for callers that hold q.mu.
func (q *Queue[K]) addAfterLocked(key K, d time.Duration) {
	if q.ended {
		return
	}
	if q.metrics.retries != nil {
		q.metrics.retries.Inc()
	}
	if d <= 0 {
		q.addLocked(key)
		return
	}
	at := time.Now().Add(d)
	other := q.delayed[key]
	switch {
	case other == nil:
	case !at.Before(other.at):
		return
	default:
		other.timer.Stop()
	}
	if q.delayed == nil {
		q.delayed = map[K]*delayedKey{}
	}
	k := &delayedKey{at: at}
	k.timer = time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.delayed[key] == k {
			delete(q.delayed, key)
			q.addLocked(key)
		}
	})
	q.delayed[key] = k
}

// retry adds a key after a delay that grows with each failure.
func (q *Queue[K]) retry(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failures == nil {
		q.failures = map[K]int{}
	}
	delay := q.backoff.First
	for range q.failures[key] {
		if delay = 2 * delay; delay >= q.backoff.Max {
			delay = q.backoff.Max
			break
		}
	}
	q.failures[key]++
	q.addAfterLocked(key, delay)
}

// forget ends the growth of the delays of a key.
func (q *Queue[K]) forget(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.failures, key)
}

// Len returns the number of keys that wait for a worker.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready)
}

// work syncs keys until none is left.
func (q *Queue[K]) work() {
	for {
		key, ok := q.take()
		if !ok {
			return
		}
		q.do(key)
	}
}

// do syncs a key. A panic does not leave the key in work.
func (q *Queue[K]) do(key K) {
	defer q.done(key)
	q.sync(q.ctx, key)
}

// take returns a key to sync. If there is none, the worker ends.
func (q *Queue[K]) take() (key K, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ready) == 0 || q.ended {
		q.workers--
		return key, false
	}
	key, q.ready = q.ready[0], q.ready[1:]
	if len(q.ready) == 0 {
		q.ready = nil // the memory of keys that were taken
	}
	now := q.now()
	if q.metrics.waited != nil {
		q.metrics.waited.Observe(now.Sub(q.added[key]).Seconds())
	}
	delete(q.added, key)
	q.begun[key] = now
	return key, true
}

// done ends the work on a key.
func (q *Queue[K]) done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.metrics.worked != nil {
		q.metrics.worked.Observe(q.now().Sub(q.begun[key]).Seconds())
	}
	delete(q.begun, key)
	if _, again := q.added[key]; again && !q.ended {
		q.readyLocked(key)
	}
}

// underway implements queueState.
func (q *Queue[K]) underway() (sum, longest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, begun := range q.begun {
		d := q.now().Sub(begun)
		sum, longest = sum+d, max(longest, d)
	}
	return sum, longest
}

// end drops all keys, and waits for the workers.
func (q *Queue[K]) end() {
	q.mu.Lock()
	q.ended, q.ready = true, nil
	for _, k := range q.delayed {
		k.timer.Stop()
	}
	q.delayed = nil
	q.mu.Unlock()
	q.wg.Wait()
}
