package reconcile

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/clock"
)

// TestQueueClock checks that a key which waits for a time of the clock is synced when the clock is moved there, before the move returns, that
// a poll is brought forward by a move, that the retry of a failed key is not, and that the end of a queue leaves no move waiting.
func TestQueueClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock.Clock{}
		defer c.Stop()
		var synced []string
		next := map[string]Result{"expires": Result(time.Hour), "polls": Poll(time.Hour), "fails": Retry}
		l := &Loop[string]{BaseConfig: BaseConfig{Clock: c}.Complete(), Name: "test", Backoff: BackoffRange{time.Hour, time.Hour},
			Sync: func(_ context.Context, key string) (Result, error) {
				synced = append(synced, key)
				if key == "expires" {
					time.Sleep(time.Second) // for which a move waits
				}
				return next[key], nil
			}}
		ctx, cancel := context.WithCancel(t.Context())
		q, _ := l.newQueue(ctx, slog.New(slog.DiscardHandler))
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			q.followClock(ctx)
		}()
		for key := range next {
			q.Add(key)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect := func(what string, want ...string) {
			t.Helper()
			slices.Sort(synced)
			if !slices.Equal(synced, want) {
				t.Errorf("%s: synced %v", what, synced)
			}
			synced = nil
		}
		expect("at first", "expires", "fails", "polls")
		move := func(offset time.Duration) {
			t.Helper()
			if err := c.Move(ctx, clock.Setting{Offset: offset}); err != nil {
				t.Fatal(err)
			}
		}
		move(59 * time.Minute)
		synctest.Wait()
		expect("a minute short of an hour", "polls")
		next["expires"] = Done
		move(61 * time.Minute)
		if !slices.Contains(synced, "expires") {
			t.Errorf("when the move returned, %v were synced", synced)
		}
		synctest.Wait()
		expect("past the hour", "expires", "polls")
		time.Sleep(time.Hour)
		synctest.Wait()
		expect("after a real hour", "fails", "polls")
		q.AddAt("expires", time.Minute)
		cancel()
		q.end()
		<-followed
		move(62 * time.Minute)
		synctest.Wait()
		expect("after the end")
	})
}
