package storage

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/monotonic"
)

// A network that drops packets silently leaves a connection that gRPC takes many seconds to
// detect. The client sends each request to another member than the one before. hedged
// therefore repeats a read that takes long, and Store.caughtUp restarts a watch that does
// not respond.

// hedgeAfter is the time after which an unanswered request is repeated; it doubles with each
// repetition.
const hedgeAfter = 400 * time.Millisecond

type hedgedResult struct {
	rev int64
	err error
}

// hedgedCall calls ask and returns its result. While there is none, it calls ask again,
// concurrently, at growing intervals. It returns an error of ask only if no other call is
// running.
func hedgedCall(ctx context.Context, spawn func(func()), after time.Duration, ask func(context.Context) (int64, error)) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan hedgedResult)
	for running := 0; ; {
		running++
		spawn(func() {
			rev, err := ask(ctx)
			select {
			case answers <- hedgedResult{rev, err}:
			case <-ctx.Done():
			}
		})
		retry := time.NewTimer(after)
		for waiting := true; waiting; {
			select {
			case a := <-answers:
				if running--; a.err == nil || running == 0 {
					retry.Stop()
					return a.rev, a.err
				}
			case <-retry.C:
				waiting = false
			case <-ctx.Done():
				retry.Stop()
				return 0, context.Cause(ctx)
			}
		}
		after *= 2
	}
}

// watchSilence detects a watch that does not respond to progress requests.
type watchSilence struct {
	requested atomic.Int64 // time of the first unanswered progress request, as a reading of package monotonic, or 0
	timeouts  atomic.Int64 // number of consecutive timeouts
}

// A new watch may go to the same unresponsive member, because the client rotates through the
// members, so the first few watches get the shortest timeout. After that the timeout doubles
// each time, in case etcd itself is slow.
const (
	silenceTimeoutMin    = time.Second
	silenceTimeoutMax    = 30 * time.Second
	silenceShortTimeouts = 4
)

// noteRequest records a progress request.
func (s *watchSilence) noteRequest() { s.requested.CompareAndSwap(0, monotonic.Now()) }

// noteResponse records a response of the watch.
func (s *watchSilence) noteResponse() {
	s.requested.Store(0)
	s.timeouts.Store(0)
}

// timeout returns the current timeout.
func (s *watchSilence) timeout() time.Duration {
	doublings := min(max(0, s.timeouts.Load()-silenceShortTimeouts+1), 5)
	return min(silenceTimeoutMin<<doublings, silenceTimeoutMax)
}

// timedOut reports whether the watch has timed out. It returns true once for each timeout.
func (s *watchSilence) timedOut() bool {
	asked, now := s.requested.Load(), monotonic.Now()
	if asked == 0 || now-asked < int64(s.timeout()) || !s.requested.CompareAndSwap(asked, now) {
		return false
	}
	s.timeouts.Add(1)
	return true
}
