package registry

import (
	"context"
	"testing"

	"github.com/miniapiserver/miniapiserver/storage"
)

// TestFollow checks that a follower gets the events of each watch, also of those after a watch that was lost, and
// that it ends with its context.
func TestFollow(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "")
	create(t, r, at, configMap("first", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	begun, seen, done := make(chan struct{}, 100), make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		r.Follow(ctx, at, WatchOptions{WatchOptions: storage.WatchOptions{Initial: true}}, func() { begun <- struct{}{} }, func(events []storage.Event) {
			for _, e := range events {
				seen <- e.Item.Name()
			}
		})
	}()
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
	cancel()
	<-done
}
