package registry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/storage"
)

// TestFollow checks that a follower gets the events of each watch, also of those after a watch that was lost, and
// that it ends with its context. It has no goroutine while nothing changes, and watches again after a panic.
func TestFollow(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "")
	create(t, r, at, configMap("first", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	begun, seen := make(chan struct{}, 100), make(chan string, 100)
	panics := true
	f := r.Follow(ctx, slog.New(slog.DiscardHandler), at, WatchOptions{WatchOptions: storage.WatchOptions{Initial: true}},
		func() { begun <- struct{}{} }, func(events []storage.Event) {
			for _, e := range events {
				if e.Item.Name() == "panics" && panics {
					panics = false
					panic("while an event is handled")
				}
				seen <- e.Item.Name()
			}
		})
	expect := func(want string) {
		t.Helper()
		if got := <-seen; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	<-begun
	expect("first")
	create(t, r, at, configMap("second", "1"))
	expect("second")

	if err := r.ReplaceResource(at.Resource, at.Resource, func() error { return nil }); err != nil { // ends the watch
		t.Fatal(err)
	}
	<-begun
	create(t, r, at, configMap("third", "1"))
	again := map[string]bool{}
	for !again["third"] {
		again[<-seen] = true
	}
	if !again["first"] || !again["second"] {
		t.Errorf("the second watch began with %v", again)
	}
	f.rests(t)

	create(t, r, at, configMap("panics", "1"))
	<-begun
	for again = map[string]bool{}; len(again) < 4; { // all objects
		again[<-seen] = true
	}
	f.rests(t)
	cancel()
	f.Wait()
	create(t, r, at, configMap("late", "1"))
	if f.watcher != nil || len(seen) > 0 {
		t.Error("the watch goes on after its end")
	}
}

// rests waits until the follower has no goroutine.
func (f *Follower) rests(t *testing.T) {
	t.Helper()
	eventually.True(t, "the follower rests", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return !f.running
	})
}

// TestFollowConcurrently checks that a follower which rests again and again misses no change, and handles one batch at
// a time.
func TestFollowConcurrently(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const writers, each = 4, 100
	all := make(chan struct{})
	count := 0 // the race detector finds two calls at a time
	f := r.Follow(ctx, slog.New(slog.DiscardHandler), at, WatchOptions{WatchOptions: storage.WatchOptions{Initial: true}},
		func() {}, func(events []storage.Event) {
			if count += len(events); count == writers*each {
				close(all)
			}
		})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				create(t, r, at, configMap(fmt.Sprintf("%d-%d", w, n), "1"))
			}
		})
	}
	wg.Wait()
	<-all
	cancel()
	f.Wait()
}
