package reconcile

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/clock"
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
	clock   *clock.Clock             // of AddAt
	now     func() time.Time         // in real time, for the metrics
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
	failures map[K]int      // failures since the last success
	awaited  map[K][]func() // called when the next sync of the key ends
	workers  int
	ended    bool
}

// delayedKey is a key that is added at a time.
type delayedKey struct {
	at   time.Time // in real time, at which it is added if the clock does not move
	stop func() bool
	// isPoll: a move of the clock adds the key too.
	isPoll bool
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
	q.delayByLocked(key, &delayedKey{at: time.Now().Add(d)}, d)
}

// AddPoll adds a key after a time, or when the clock has moved.
func (q *Queue[K]) AddPoll(key K, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.delayByLocked(key, &delayedKey{at: time.Now().Add(d), isPoll: true}, d)
}

// delayByLocked adds a key after d by k; the caller holds q.mu.
func (q *Queue[K]) delayByLocked(key K, k *delayedKey, d time.Duration) {
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
	if q.delayLocked(key, k) {
		k.stop = time.AfterFunc(d, func() { _ = recovery.Call(q.log, q.name, func() { q.addDelayed(key, k, nil) }) }).Stop
	}
}

// AddAt adds a key after a time of the clock. Of several times for a key, the first one counts. A move of the clock waits until the
// key is synced.
func (q *Queue[K]) AddAt(key K, d time.Duration) {
	if q.clock == nil {
		q.AddAfter(key, d)
		return
	}
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.metrics.retries != nil {
		q.metrics.retries.Inc()
	}
	k := &delayedKey{at: time.Now().Add(d)}
	if q.delayLocked(key, k) {
		k.stop = q.clock.AfterFunc(now.Add(d), func(done func()) { q.addDelayed(key, k, done) })
	}
}

// delayLocked makes k what adds a key later, unless something else does so sooner; the caller holds q.mu.
func (q *Queue[K]) delayLocked(key K, k *delayedKey) bool {
	other := q.delayed[key]
	switch {
	case q.ended, other != nil && !k.at.Before(other.at):
		return false
	case other != nil:
		other.stop()
	}
	if q.delayed == nil {
		q.delayed = map[K]*delayedKey{}
	}
	q.delayed[key] = k
	return true
}

// followClock adds the polled keys when the clock has moved, until ctx is done.
func (q *Queue[K]) followClock(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.clock.Changed():
		}
		q.mu.Lock()
		for key, k := range q.delayed {
			if k.isPoll && k.stop() {
				delete(q.delayed, key)
				q.addLocked(key)
			}
		}
		q.mu.Unlock()
	}
}

// addDelayed adds the key of k, and calls done, unless it is nil, when it is synced.
func (q *Queue[K]) addDelayed(key K, k *delayedKey, done func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.delayed[key] != k || q.ended {
		if done != nil {
			done()
		}
		return
	}
	delete(q.delayed, key)
	q.addLocked(key)
	if done != nil {
		if q.awaited == nil {
			q.awaited = map[K][]func(){}
		}
		q.awaited[key] = append(q.awaited[key], done)
	}
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

// isIdle reports whether no key waits for a worker or is synced.
func (q *Queue[K]) isIdle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready) == 0 && len(q.begun) == 0
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
		return // whoever waits for the key waits for the sync that begins now
	}
	for _, done := range q.awaited[key] {
		done()
	}
	delete(q.awaited, key)
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
		k.stop()
	}
	q.delayed = nil
	for _, waiting := range q.awaited {
		for _, done := range waiting {
			done()
		}
	}
	q.awaited = nil
	q.mu.Unlock()
	q.wg.Wait()
}
