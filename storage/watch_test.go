package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/miniapiserver/miniapiserver/api"
)

// describeEvents returns events as text: the sign of the type, the key, the value.
func describeEvents(t *testing.T, events []Event) (s string) {
	t.Helper()
	for _, e := range events {
		switch {
		case e.Type == Bookmark && e.End:
			s += "| "
		case e.Type == Bookmark:
			s += ". "
		default:
			if e.Item.Revision() != e.Revision {
				t.Errorf("item at %d in an event at %d", e.Item.Revision(), e.Revision)
			}
			s += "+~-"[e.Type:e.Type+1] + e.Item.Key() + "=" + configMapValue(t, e.Item) + " "
		}
	}
	return s
}

// TestLastEvents checks that a watch which the store ends delivers the changes from before
// its end.
func TestLastEvents(t *testing.T) {
	for name, end := range map[string]func(*Collection){
		"closed":       func(c *Collection) { c.Close() },
		"reconfigured": func(c *Collection) { c.Reconfigure(configMaps()) },
	} {
		t.Run(name, func(t *testing.T) {
			_, c := startStore(t, Options{})
			w := mustWatch(t, c, WatchOptions{})
			mustCreate(t, c, "a/x", "1")
			nextEvents(t, w, 1)
			mustCreate(t, c, "a/y", "1")
			mustDelete(t, c, mustCreate(t, c, "a/z", "1"))
			mustList(t, c, ListOptions{}) // waits for the cache
			end(c)
			if events := nextEvents(t, w, 3); events[0].Item.Key() != "a/y" || events[2].Type != Deleted {
				t.Errorf("got %v", events)
			}
			if events, err := w.Next(t.Context()); err == nil {
				t.Errorf("continues with %v", events)
			}
		})
	}
}

func TestWatchSelections(t *testing.T) {
	red := func(i *Item) bool { return i.Labels().Get("color") == "red" }
	for name, tt := range map[string]struct {
		o    WatchOptions
		want string
	}{
		"all":     {WatchOptions{}, "+a/y=1 +b/x=1 ~a/x=2 ~a/x=3 ~a/x=4 -a/y=1 -a/x=4 "},
		"prefix":  {WatchOptions{Prefix: "b/"}, "+b/x=1 "},
		"key":     {WatchOptions{Key: "a/y"}, "+a/y=1 -a/y=1 "},
		"filter":  {WatchOptions{Filter: red}, "+b/x=1 +a/x=2 ~a/x=3 -a/x=3 "},
		"initial": {WatchOptions{Initial: true, InitialEventsEnd: true}, "+a/x=1 | +a/y=1 +b/x=1 ~a/x=2 ~a/x=3 ~a/x=4 -a/y=1 -a/x=4 "},
		"initial, filter": {WatchOptions{Initial: true, InitialEventsEnd: true, Filter: red},
			"| +b/x=1 +a/x=2 ~a/x=3 -a/x=3 "},
		"field": {WatchOptions{Field: "node", Value: "1"}, "+a/y=1 -a/y=1 "},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := startStore(t, Options{})
			x := mustCreate(t, c, "a/x", "1")
			w := mustWatch(t, c, tt.o)
			node := configMap("a/y", "1")
			node.Data["node"] = "1"
			y, err := c.Create(t.Context(), "a/y", node)
			if err != nil {
				t.Fatal(err)
			}
			mustCreate(t, c, "b/x", "1", "color", "red")
			from := mustWatch(t, c, WatchOptions{Revision: x.Revision(), Prefix: tt.o.Prefix, Key: tt.o.Key, Field: tt.o.Field, Value: tt.o.Value, Filter: tt.o.Filter})
			x = mustUpdate(t, c, x, "2", "color", "red")
			x = mustUpdate(t, c, x, "3", "color", "red")
			x = mustUpdate(t, c, x, "4", "color", "blue")
			mustDelete(t, c, y)
			mustDelete(t, c, x)
			n := 0
			for _, r := range tt.want {
				if r == ' ' {
					n++
				}
			}
			if got := describeEvents(t, nextEvents(t, w, n)); got != tt.want {
				t.Errorf("saw %s, want %s", got, tt.want)
			}
			if !tt.o.Initial {
				if got := describeEvents(t, nextEvents(t, from, n)); got != tt.want {
					t.Errorf("from a revision saw %s, want %s", got, tt.want)
				}
			}
		})
	}
}

// TestWatchFromAhead starts a watch at a revision that the cache has not reached.
func TestWatchFromAhead(t *testing.T) {
	s, c := startStore(t, Options{})
	x := mustCreate(t, c, "a/x", "1")
	if _, err := c.Get(t.Context(), "a/x", Read{}); err != nil {
		t.Fatal(err)
	}
	s.applyMu.Lock() // stops the cache
	x = mustUpdate(t, c, x, "2")
	w := mustWatch(t, c, WatchOptions{Revision: x.Revision()})
	s.applyMu.Unlock()
	mustUpdate(t, c, x, "3")
	if got := describeEvents(t, nextEvents(t, w, 1)); got != "~a/x=3 " {
		t.Error(got)
	}
}

// TestStateBeforeEvents checks that no watcher has an event before the state with its change is
// published.
func TestStateBeforeEvents(t *testing.T) {
	s := openStore(t, Options{})
	cfg := configMaps()
	var w *Watcher
	early := false
	fields := cfg.Fields
	cfg.Fields = func(o api.Object) map[string]string {
		if o.GetName() == "second" { // the change of a/first was applied in the same batch
			early = early || w.queued()
		}
		return fields(o)
	}
	c, err := s.Collection(cfg)
	if err == nil {
		err = s.Start(t.Context())
	}
	if err == nil {
		w, err = c.Watch(t.Context(), WatchOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var events []*mvccpb.Event
	for n, name := range []string{"first", "second"} {
		value, err := c.encode(configMap("a/"+name, ""))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, &mvccpb.Event{Kv: &mvccpb.KeyValue{
			Key: []byte(c.prefix + "a/" + name), Value: value, ModRevision: s.applied.rev.Load() + 1 + int64(n),
		}})
	}
	s.apply(events)
	if early {
		t.Error("the watcher had the event of a/first while reads did not find a/first")
	}
	if got, err := w.Next(t.Context()); err != nil || len(got) != 2 {
		t.Errorf("the watcher got %v, %v, want two events", got, err)
	}
}

func TestBookmarks(t *testing.T) {
	_, c := startStore(t, Options{})
	w := mustWatch(t, c, WatchOptions{Prefix: "b/", Bookmarks: true, BookmarkEvery: 20 * time.Millisecond})
	rev := mustCreate(t, c, "a/x", "").Revision()
	for { // until the bookmark covers the change in another namespace
		e := nextEvents(t, w, 1)[0]
		if e.Type != Bookmark || e.End {
			t.Fatal(e)
		}
		if e.Revision >= rev {
			break
		}
	}
}

func TestDeadline(t *testing.T) {
	_, c := startStore(t, Options{})
	deadline := time.Now().Add(bookmarkBefore + 50*time.Millisecond)
	w := mustWatch(t, c, WatchOptions{Bookmarks: true, Deadline: deadline})
	if e := nextEvents(t, w, 1)[0]; e.Type != Bookmark || time.Now().After(deadline) {
		t.Error(e)
	}
	if _, err := w.Next(t.Context()); err != io.EOF || time.Now().Before(deadline) {
		t.Error(err)
	}
}

func TestEvents(t *testing.T) {
	s, c := startStore(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	w, err := c.Watch(ctx, WatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mustCreate(t, c, "a/x", "1")
	if e := <-w.Events(); e.Type != Added {
		t.Error(e)
	}
	cancel()
	if _, ok := <-w.Events(); ok || w.Err() != nil {
		t.Error(w.Err())
	}
	closed := mustWatch(t, c, WatchOptions{})
	events := closed.Events()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := <-events; ok || !errors.Is(closed.Err(), ErrClosed) {
		t.Error(closed.Err())
	}
	if _, err := c.Watch(t.Context(), WatchOptions{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestSlowWatcher(t *testing.T) {
	_, c := startStore(t, Options{WatchQueue: 10})
	slow, quick := mustWatch(t, c, WatchOptions{}), mustWatch(t, c, WatchOptions{})
	for n := range 12 {
		mustCreate(t, c, fmt.Sprint("a/", n), "")
		nextEvents(t, quick, 1)
	}
	if _, err := slow.Next(t.Context()); !errors.Is(err, ErrSlow) || !errors.Is(slow.Err(), ErrSlow) {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fanout.all.members) != 1 {
		t.Errorf("%d watchers are left", len(c.fanout.all.members))
	}
}

// TestHistory reads changes from etcd that the window has dropped.
func TestHistory(t *testing.T) {
	_, c := startStore(t, Options{WindowBytes: 1, WatchQueue: 5})
	first := mustCreate(t, c, "a/x", "0")
	x := first
	for n := 1; n < 20; n++ {
		x = mustUpdate(t, c, x, fmt.Sprint(n))
	}
	mustCreate(t, c, "a/y", "1")
	mustDelete(t, c, x)
	mustList(t, c, ListOptions{Read: Read{Match: Consistent}}) // the watcher's queue has no room for changes that the cache lacks
	w := mustWatch(t, c, WatchOptions{Revision: first.Revision()})
	events := nextEvents(t, w, 21)
	if events[0].Type != Modified || configMapValue(t, events[0].Item) != "1" || events[19].Type != Added || events[20].Type != Deleted {
		t.Error(describeEvents(t, events))
	}
}

// TestOldest checks that a watch cannot start before the oldest revision of its collection, or
// before the end of the bootstrap.
func TestOldest(t *testing.T) {
	s, c := startStore(t, Options{})
	refused := func(c *Collection, rev, oldest int64) {
		t.Helper()
		_, err := c.Watch(t.Context(), WatchOptions{Revision: rev})
		var compacted *CompactedError
		if !errors.As(err, &compacted) || compacted.Compacted != oldest {
			t.Errorf("from %d: %v, want %d to be the oldest", rev, err, oldest)
		}
	}
	x := mustCreate(t, c, "a/x", "0")
	mustWatch(t, c, WatchOptions{Revision: x.Revision() - 1})
	y := mustCreate(t, c, "a/y", "0")
	mustList(t, c, ListOptions{})
	s.EndBootstrap()
	refused(c, firstWritten-1, firstWritten)
	mustWatch(t, c, WatchOptions{Revision: x.Revision()})
	if got := describeEvents(t, nextEvents(t, mustWatch(t, c, WatchOptions{Initial: true}), 2)); got != "+a/x=0 +a/y=0 " {
		t.Error(got)
	}
	w := mustCreate(t, c, "a/w", "0")
	cfg := configMaps()
	cfg.Prefix, cfg.Oldest = "later", w.Revision()
	later, err := s.Collection(cfg)
	if err != nil {
		t.Fatal(err)
	}
	refused(later, y.Revision(), w.Revision())
	z := mustCreate(t, later, "a/z", "0")
	if got := describeEvents(t, nextEvents(t, mustWatch(t, later, WatchOptions{Revision: z.Revision() - 1}), 1)); got != "+a/z=0 " {
		t.Error(got)
	}
}

// TestOldestAtRestart checks that a store that found data allows watches from revisions before
// its start, because it may have served clients before.
func TestOldestAtRestart(t *testing.T) {
	dir := t.TempDir()
	s, c := startStore(t, Options{Dir: dir})
	x := mustCreate(t, c, "a/x", "0")
	mustCreate(t, c, "a/y", "0")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, c = startStore(t, Options{Dir: dir})
	s.EndBootstrap()
	if got := describeEvents(t, nextEvents(t, mustWatch(t, c, WatchOptions{Revision: x.Revision()}), 1)); got != "+a/y=0 " {
		t.Error(got)
	}
	if _, err := c.Watch(t.Context(), WatchOptions{Revision: firstWritten - 1}); err == nil {
		t.Error("a watch starts before the first write")
	}
}

// TestInterrupted cancels the etcd watch repeatedly.
func TestInterrupted(t *testing.T) {
	s, c := startStore(t, Options{})
	w := mustWatch(t, c, WatchOptions{})
	const changes = 200
	var want []string
	for n := range changes {
		key := fmt.Sprint("a/", n)
		mustCreate(t, c, key, "")
		want = append(want, key)
		if n%10 == 0 {
			(*s.cancelWatch.Load())()
		}
	}
	for n, e := range nextEvents(t, w, changes) {
		if e.Type != Added || e.Item.Key() != want[n] {
			t.Fatalf("event %d is %v of %s", n, e.Type, e.Item.Key())
		}
	}
}

// TestReload compacts changes that the cache has not seen.
func TestReload(t *testing.T) {
	s, c := startStore(t, Options{})
	x, y := mustCreate(t, c, "a/x", "1"), mustCreate(t, c, "a/y", "1")
	x = mustUpdate(t, c, x, "2")
	mustList(t, c, ListOptions{})
	w := mustWatch(t, c, WatchOptions{})
	if _, err := s.client.Compact(t.Context(), x.Revision()); err != nil {
		t.Fatal(err)
	}
	s.applied.rev.Store(1) // as if it had seen no change
	(*s.cancelWatch.Load())()
	var compacted *CompactedError
	if _, err := watchAll(t, w); !errors.As(err, &compacted) {
		t.Errorf("the watch ended with %v", err)
	}
	l := mustList(t, c, ListOptions{})
	if len(l.Items) != 2 || configMapValue(t, l.Items[0]) != "2" || l.Items[1] != y {
		t.Error(listedKeys(l))
	}
	w = mustWatch(t, c, WatchOptions{})
	mustCreate(t, c, "a/z", "")
	nextEvents(t, w, 1)
}

// watchAll reads events until the watch ends and returns their number.
func watchAll(t *testing.T, w *Watcher) (n int, err error) {
	for {
		events, err := w.Next(t.Context())
		if err != nil {
			return n, err
		}
		n += len(events)
	}
}
