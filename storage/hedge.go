package storage

import (
	"context"
	"sync/atomic"
	"time"
)

// A network that swallows what it is given makes a connection silent, and it
// takes gRPC many seconds to notice. Each request goes to another member than
// the one before, so that reads, which may be asked twice, need not wait for
// it: hedged asks again, and a watch that says nothing is begun again.

// hedgeAfter is how long an answer may take before the question is asked again;
// it doubles with each question.
const hedgeAfter = 400 * time.Millisecond

type answered struct {
	rev int64
	err error
}

// hedged returns the first answer to ask, which it calls once more, besides the
// calls that are under way, whenever none has come for a while. An error is an
// answer when no other call is under way.
func hedged(ctx context.Context, spawn func(func()), after time.Duration, ask func(context.Context) (int64, error)) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answered)
	for open := 0; ; {
		open++
		spawn(func() {
			rev, err := ask(ctx)
			select {
			case answers <- answered{rev, err}:
			case <-ctx.Done():
			}
		})
		again := time.NewTimer(after)
		for waiting := true; waiting; {
			select {
			case a := <-answers:
				if open--; a.err == nil || open == 0 {
					again.Stop()
					return a.rev, a.err
				}
			case <-again.C:
				waiting = false
			case <-ctx.Done():
				again.Stop()
				return 0, context.Cause(ctx)
			}
		}
		after *= 2
	}
}

// silence finds a watch that says nothing although it was asked how far it is.
type silence struct {
	asked atomic.Int64 // when it was first asked without an answer, in ns since 1970, or 0
	found atomic.Int64 // how often in a row it said nothing for too long
}

// What takes the place of a silent watch may lead to the same member again, as
// requests go around, so the first few have the least time each. Then each has
// twice as long as the one before, for it may be etcd that is slow.
const (
	silenceLeast  = time.Second
	silenceMost   = 30 * time.Second
	silencesAlike = 4
)

// ask notes that the watch was asked.
func (s *silence) ask() { s.asked.CompareAndSwap(0, time.Now().UnixNano()) }

// hear notes that the watch said something.
func (s *silence) hear() {
	s.asked.Store(0)
	s.found.Store(0)
}

// bound is how long the watch may say nothing.
func (s *silence) bound() time.Duration {
	doublings := min(max(0, s.found.Load()-silencesAlike+1), 5)
	return min(silenceLeast<<doublings, silenceMost)
}

// broken tells, once, whether the watch has said nothing for too long.
func (s *silence) broken() bool {
	asked, now := s.asked.Load(), time.Now().UnixNano()
	if asked == 0 || now-asked < int64(s.bound()) || !s.asked.CompareAndSwap(asked, now) {
		return false
	}
	s.found.Add(1)
	return true
}
