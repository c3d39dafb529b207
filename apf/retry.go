package apf

import (
	"sync"
	"sync/atomic"
	"time"
)

// retryTracker knows how long clients that are rejected should stay away, by
// level: longer, the more are rejected in spite of it.
type retryTracker struct {
	levels sync.Map // name -> *retries
}

// longestRetry is the most seconds that a client is asked to stay away.
const longestRetry = 32

// retries are the rejections of a level in the last seconds.
type retries struct {
	seconds atomic.Int64 // to stay away

	mu      sync.Mutex // guards what follows
	updated int64      // the second in which seconds was set
	recent  [longestRetry + 1]struct {
		second int64
		n      int
	}
}

func (t *retryTracker) of(level string) *retries {
	if r, ok := t.levels.Load(level); ok {
		return r.(*retries)
	}
	fresh := &retries{}
	fresh.seconds.Store(1)
	r, _ := t.levels.LoadOrStore(level, fresh)
	return r.(*retries)
}

// after is how many seconds a client that is rejected should stay away.
func (t *retryTracker) after(level string) int { return int(t.of(level).seconds.Load()) }

// forget drops what is known of a level that is no more.
func (t *retryTracker) forget(level string) { t.levels.Delete(level) }

// rejected counts a rejection.
func (t *retryTracker) rejected(level string, now time.Time) {
	r, second := t.of(level), now.Unix()
	r.mu.Lock()
	defer r.mu.Unlock()
	slot := &r.recent[second%int64(len(r.recent))]
	if slot.second != second {
		r.update(second)
		slot.second, slot.n = second, 0
	}
	slot.n++
}

// update sets the time to stay away by how many came in the one before: fewer
// than one a second is so good that it is halved, three a second so bad that it
// is doubled.
func (r *retries) update(second int64) {
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
		seconds = min(longestRetry, 2*seconds)
	}
	r.seconds.Store(seconds)
	r.updated = second
}
