package storage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestHedged(t *testing.T) {
	failed := errors.New("failed")
	hang := func(ctx context.Context, _ int64) (int64, error) { <-ctx.Done(); return 0, ctx.Err() }
	for name, c := range map[string]struct {
		ask  func(ctx context.Context, n int64) (int64, error)
		want int64
		err  error
		took time.Duration
	}{
		"at once":             {func(context.Context, int64) (int64, error) { return 7, nil }, 7, nil, 0},
		"an error at once":    {func(context.Context, int64) (int64, error) { return 0, failed }, 0, failed, 0},
		"never":               {hang, 0, context.DeadlineExceeded, 10 * time.Second},
		"the third time":      {func(ctx context.Context, n int64) (int64, error) { return answerCall(ctx, n, 3, hang) }, 3, nil, 3 * time.Second},
		"the first, but late": {func(ctx context.Context, n int64) (int64, error) { return answerFirstLate(ctx, n, hang) }, 1, nil, 5 * time.Second},
		"an error while another is under way": {func(ctx context.Context, n int64) (int64, error) {
			if n > 1 {
				return 0, failed
			}
			return answerFirstLate(ctx, n, hang)
		}, 1, nil, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var calls atomic.Int64
				began := time.Now()
				rev, err := hedgedCall(ctx, func(f func()) { go f() }, time.Second, func(ctx context.Context) (int64, error) {
					return c.ask(ctx, calls.Add(1))
				})
				if took := time.Since(began); rev != c.want || !errors.Is(err, c.err) || took != c.took {
					t.Errorf("%d %v after %v, want %d %v after %v", rev, err, took, c.want, c.err, c.took)
				}
			})
		})
	}
}

// answerCall answers call number want immediately and blocks all others.
func answerCall(ctx context.Context, n, want int64, hang func(context.Context, int64) (int64, error)) (int64, error) {
	if n == want {
		return n, nil
	}
	return hang(ctx, n)
}

// answerFirstLate answers the first call after 5 seconds and blocks all others.
func answerFirstLate(ctx context.Context, n int64, hang func(context.Context, int64) (int64, error)) (int64, error) {
	if n > 1 {
		return hang(ctx, n)
	}
	select {
	case <-time.After(5 * time.Second):
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s watchSilence
		s.noteResponse()
		if time.Sleep(time.Minute); s.timedOut() {
			t.Error("timed out without a request")
		}
		s.noteRequest()
		for n, after := range []time.Duration{time.Second, time.Second, time.Second, time.Second, 2 * time.Second, 4 * time.Second} {
			time.Sleep(after - time.Nanosecond)
			s.noteRequest() // does not restart the timeout
			if s.timedOut() {
				t.Errorf("%d: timed out too early", n)
			}
			time.Sleep(time.Nanosecond)
			if !s.timedOut() || s.timedOut() {
				t.Errorf("%d: not timed out, or twice", n)
			}
		}
		if s.noteResponse(); s.timedOut() {
			t.Error("timed out after a response")
		}
		s.noteRequest()
		if time.Sleep(time.Second); !s.timedOut() {
			t.Error("not timed out after the first timeout")
		}
	})
}
