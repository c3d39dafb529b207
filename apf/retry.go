package apf

import (
	"sync"
	"sync/atomic"
	"time"
)

// retryTracker computes the Retry-After of rejected requests by level. It grows while many
// requests are rejected.
type retryTracker struct {
	levels sync.Map // name -> *retries
	once   sync.Once
	start  time.Time // the first rejection; once sets it
}

// maxRetryAfter is the maximum Retry-After in seconds.
const maxRetryAfter = 32

// levelRetries counts the rejections of a level in the last seconds.
type levelRetries struct {
	seconds atomic.Int64 // the current Retry-After

	mu      sync.Mutex // guards the fields below
	updated int64      // the second in which seconds was set
	recent  [maxRetryAfter + 1]struct {
		second int64
		n      int
	}
}

func (t *retryTracker) retriesOf(level string) *levelRetries {
	if r, ok := t.levels.Load(level); ok {
		return r.(*levelRetries)
	}
	fresh := &levelRetries{}
	fresh.seconds.Store(1)
	r, _ := t.levels.LoadOrStore(level, fresh)
	return r.(*levelRetries)
}

// after returns the Retry-After of a level in seconds.
func (t *retryTracker) after(level string) int { return int(t.retriesOf(level).seconds.Load()) }

// forget drops the state of a removed level.
func (t *retryTracker) forget(level string) { t.levels.Delete(level) }

// second returns the number of the second of now, counted from the first rejection rather than by
// the wall clock, which may be set.
func (t *retryTracker) second(now time.Time) int64 {
	t.once.Do(func() { t.start = now })
	return 1 + max(0, int64(now.Sub(t.start)/time.Second))
}

// rejected counts a rejection.
func (t *retryTracker) rejected(level string, now time.Time) {
	r, second := t.retriesOf(level), t.second(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	slot := &r.recent[second%int64(len(r.recent))]
	if slot.second != second {
		r.update(second)
		slot.second, slot.n = second, 0
	}
	slot.n++
}

// update adapts the Retry-After to the rejections in the last period of that length: it is
// halved at less than one a second, and doubled at three or more a second.
func (r *levelRetries) update(second int64) {
	seconds := r.seconds.Load()
	if r.updated == 0 {
		r.updated = second
	}
	if second-r.updated < seconds {
		return
	}
	n := 0
	for _, s := range r.recent {
		if s.second < second && second-s.second <= seconds {
			n += s.n
		}
	}
	switch {
	case int64(n) < seconds:
		seconds = max(1, seconds/2)
	case int64(n) >= 3*seconds:
		seconds = min(maxRetryAfter, 2*seconds)
	}
	r.seconds.Store(seconds)
	r.updated = second
}
