package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// startQueue returns the queue of a loop, which ends with the test.
func startQueue(t *testing.T, workers int, sync func(context.Context, string) (Result, error)) *Queue[string] {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &Loop[string]{BaseConfig: BaseConfig{}.Complete(), Name: "test", Workers: workers, Sync: sync,
		Backoff: BackoffRange{time.Second, 5 * time.Second}}
	q, _ := l.newQueue(ctx, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		cancel()
		q.end()
		q.Add("later")
		q.AddAfter("later", time.Second)
		if q.Len() > 0 {
			t.Error("a key was added after the end")
		}
	})
	return q
}

// workersNow returns the number of workers of a queue.
func (q *Queue[K]) workersNow() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.workers
}

// TestQueueWorkers checks that workers exist only while there are keys, at most the permitted number, and that a key is
// synced by one of them at a time, once more if it is added meanwhile.
func TestQueueWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		busy, most, count := map[string]bool{}, 0, map[string]int{}
		q := startQueue(t, 2, func(_ context.Context, key string) (Result, error) {
			mu.Lock()
			if busy[key] {
				t.Errorf("%s is synced twice at the same time", key)
			}
			busy[key] = true
			most = max(most, len(busy))
			count[key]++
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			delete(busy, key)
			mu.Unlock()
			return Done, nil
		})
		if n := q.workersNow(); n != 0 {
			t.Errorf("%d workers before the first key", n)
		}
		for range 3 {
			for _, key := range []string{"a", "b", "c"} {
				q.Add(key)
			}
		}
		synctest.Wait()
		if n := q.workersNow(); n != 2 || q.Len() != 1 {
			t.Errorf("%d workers, %d keys wait", n, q.Len())
		}
		q.Add("a") // while it is synced
		q.Add("a")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := q.workersNow(); n != 0 {
			t.Errorf("%d workers after the last key", n)
		}
		if most != 2 || count["a"] != 2 || count["b"] != 1 || count["c"] != 1 {
			t.Errorf("%v, at most %d at a time", count, most)
		}
	})
}

// TestQueueDelays checks the times of keys that are added later, and of those whose sync failed or panicked.
func TestQueueDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var times []int // seconds
		fail := func() error { return errors.New("failed") }
		q := startQueue(t, 1, func(_ context.Context, key string) (Result, error) {
			times = append(times, int(time.Since(start)/time.Second))
			if key != "fails" {
				return Done, nil
			}
			switch len(times) {
			case 5:
				panic("while it is synced")
			case 6:
				return Result(20 * time.Second), nil
			case 7:
				return Retry, nil
			case 8:
				return Done, nil
			}
			return Done, fail()
		})
		q.AddAfter("a", 30*time.Second)
		q.AddAfter("a", 10*time.Second)
		q.AddAfter("a", 20*time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Equal(times, []int{10}) {
			t.Errorf("synced after %v", times)
		}
		start, times = time.Now(), nil
		q.Add("fails")
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []int{0, 1, 3, 7, 12, 17, 37, 38}; !slices.Equal(times, want) {
			t.Errorf("synced after %v, want %v", times, want)
		}
	})
}
