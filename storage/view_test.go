package storage

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// late is the age of views that see no change of a test.
const late = time.Hour

// TestView checks which reads see a late view, and that the view has the state of the beginning until it ends.
func TestView(t *testing.T) {
	_, c := startStore(t, Options{FutureWait: 20 * time.Millisecond})
	v := NewView(late)
	empty := mustList(t, c, ListOptions{Read: Read{Match: Any, View: v}})
	x := mustCreate(t, c, "a/x", "1")
	y := mustCreate(t, c, "a/y", "1")
	mustUpdate(t, c, y, "2")
	if len(empty.Items) != 0 || empty.Revision >= x.Revision() {
		t.Errorf("the first state is %v at %d", empty.Items, empty.Revision)
	}
	for _, row := range []struct {
		name string
		read Read
		want []string
	}{
		{"any", Read{Match: Any, View: v}, nil},
		{"not older than the view", Read{Match: NotOlderThan, Revision: empty.Revision, View: v}, nil},
		{"consistent", Read{View: v}, []string{"a/x", "a/y"}},
		{"exact", Read{Match: Exact, Revision: x.Revision(), View: v}, []string{"a/x"}},
		{"without a view", Read{Match: Any}, []string{"a/x", "a/y"}},
	} {
		if got := listedKeys(mustList(t, c, ListOptions{Read: row.read})); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	var future *FutureRevisionError
	if _, err := c.List(t.Context(), ListOptions{Read: Read{Match: NotOlderThan, Revision: x.Revision(), View: v}}); !errors.As(err, &future) {
		t.Errorf("a revision that the view has not reached: %v", err)
	} else if future.Current >= x.Revision() {
		t.Errorf("the view is at %d, before %d", future.Current, x.Revision())
	}
	if _, err := c.Get(t.Context(), "a/x", Read{Match: Any, View: v}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a get of a later object: %v", err)
	}
	v.End()
	if i, err := c.Get(t.Context(), "a/x", Read{Match: Any, View: v}); err != nil || i != x {
		t.Errorf("after the end: %v", err)
	}
}

// TestViewMoves checks that the states of a view are those that the collection had, one after the other, with the revision up to which
// they are complete.
func TestViewMoves(t *testing.T) {
	_, c := startStore(t, Options{})
	history := map[int64]string{} // the value at each revision
	item := mustCreate(t, c, "a/x", "0")
	first := item.Revision()
	history[first] = "0"
	v := NewView(20 * time.Millisecond)
	seen := func() (int64, string) {
		l := mustList(t, c, ListOptions{Read: Read{Match: Any, View: v}})
		value := ""
		if len(l.Items) == 1 {
			value = configMapValue(t, l.Items[0])
		}
		return l.Revision, value
	}
	last, lagged := int64(0), false
	check := func() string {
		rev, value := seen()
		if want := history[rev]; want != value || rev < last {
			t.Fatalf("the view has %q at %d, after %d; the collection had %q", value, rev, last, want)
		}
		lagged = lagged || rev < item.Revision()
		last = rev
		return value
	}
	for rev := first - 100; rev < first; rev++ {
		history[rev] = ""
	}
	for n := range 300 {
		item = mustUpdate(t, c, item, fmt.Sprint(n))
		history[item.Revision()] = fmt.Sprint(n)
		check()
	}
	eventually.True(t, "the last state", func() bool { return check() == "299" })
	if !lagged {
		t.Error("the view was never behind")
	}
}

// TestLateWatch checks that a watch in a late view gets the state of the view, and everything since when the view ends, in order and once.
func TestLateWatch(t *testing.T) {
	_, c := startStore(t, Options{WatchQueue: 4})
	v := NewView(late)
	mustList(t, c, ListOptions{Read: Read{Match: Any, View: v}})
	first := mustCreate(t, c, "a/x", "1")
	initial := mustWatch(t, c, WatchOptions{Initial: true, InitialEventsEnd: true, Read: Read{Match: Any}, View: v})
	from := mustWatch(t, c, WatchOptions{Revision: first.Revision(), View: v})
	consistent := mustWatch(t, c, WatchOptions{Initial: true, View: v})
	running := mustWatch(t, c, WatchOptions{})
	running.SetView(v)
	if got := describeEvents(t, nextEvents(t, initial, 1)); got != "| " {
		t.Errorf("the state of the view is %s", got)
	}
	if got := describeEvents(t, nextEvents(t, consistent, 1)); got != "+a/x=1 " {
		t.Errorf("a consistent beginning is %s", got)
	}
	for n := range 6 { // more than fit into the queue of a watch that is not late
		first = mustUpdate(t, c, first, fmt.Sprint(n))
	}
	mustList(t, c, ListOptions{}) // waits for the cache
	for name, w := range map[string]*Watcher{"initial": initial, "from": from, "consistent": consistent, "running": running} {
		if events, err := w.Poll(); len(events) > 0 || err != nil {
			t.Errorf("%s: the view held back nothing: %v, %v", name, events, err)
		}
	}
	v.End()
	running.SetView(nil)
	const rest = "~a/x=0 ~a/x=1 ~a/x=2 ~a/x=3 ~a/x=4 ~a/x=5 "
	for w, want := range map[*Watcher]string{initial: "+a/x=1 " + rest, from: rest, consistent: rest, running: rest} {
		if got := describeEvents(t, nextEvents(t, w, len(want)/len("~a/x=0 "))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestLateWatchWakes checks that a watch that waits gets late events without others, and the end of a collection at once.
func TestLateWatchWakes(t *testing.T) {
	_, c := startStore(t, Options{})
	const age = 30 * time.Millisecond
	w := mustWatch(t, c, WatchOptions{View: NewView(age)})
	began := time.Now()
	mustCreate(t, c, "a/x", "1")
	if nextEvents(t, w, 1); time.Since(began) < age {
		t.Errorf("the event came after %v", time.Since(began))
	}
	w.SetView(NewView(late))
	mustCreate(t, c, "a/y", "1")
	mustList(t, c, ListOptions{})
	c.Close()
	nextEvents(t, w, 1)
	if _, err := w.Next(t.Context()); !errors.Is(err, ErrRemoved) {
		t.Errorf("the watch ended with %v", err)
	}
}

// TestLag checks that only the followers of a collection see it late, and what they saw before as before.
func TestLag(t *testing.T) {
	_, c := startStore(t, Options{})
	follows, all := c.FollowingCursor(), c.Cursor()
	mustCreate(t, c, "a/x", "1")
	mustList(t, c, ListOptions{})
	if steps, _ := follows.Next(); len(steps) != 1 {
		t.Fatal("the cursor has no steps")
	}
	c.SetLag(late)
	if c.LooksEmpty() {
		t.Error("what was seen is gone")
	}
	follows.Next()
	state := c.State()
	woken := make(chan struct{}, 100)
	w := mustWatch(t, c, WatchOptions{Followed: true, Initial: true, Read: Read{Match: Any}, Ready: func() { woken <- struct{}{} }})
	if events, err := w.Poll(); err != nil || describeEvents(t, events) != "+a/x=1 " {
		t.Errorf("a follower begins with %v, %v", events, err)
	}
	y := mustCreate(t, c, "a/y", "1")
	mustList(t, c, ListOptions{})
	if follows.Behind() || c.State() != state {
		t.Error("followers see the change at once")
	}
	if l := mustList(t, c, ListOptions{Read: Read{Match: Followed}}); len(l.Items) != 1 {
		t.Errorf("followers see %v", listedKeys(l))
	}
	if l := mustList(t, c, ListOptions{Read: Read{Match: Any}}); len(l.Items) != 2 || !all.Behind() {
		t.Errorf("others see %v", listedKeys(l))
	}
	if events, _ := w.Poll(); len(events) > 0 {
		t.Errorf("a follower got %s", describeEvents(t, events))
	}
	for len(woken) > 0 {
		<-woken
	}
	c.SetLag(0)
	<-woken
	if events, err := w.Poll(); err != nil || describeEvents(t, events) != "+a/y=1 " {
		t.Errorf("after the lag a follower gets %v, %v", events, err)
	}
	if steps, whole := follows.Next(); whole || len(steps) != 1 || steps[0].Item != y {
		t.Errorf("after the lag the cursor has %v", steps)
	}
}

// TestViewOfReload checks that a view goes on after the collection was configured anew.
func TestViewOfReload(t *testing.T) {
	_, c := startStore(t, Options{})
	v := NewView(late)
	mustCreate(t, c, "a/x", "1")
	if l := mustList(t, c, ListOptions{Read: Read{Match: Any, View: v}}); len(l.Items) != 0 {
		t.Fatalf("the view has %v", listedKeys(l))
	}
	mustList(t, c, ListOptions{}) // waits for the cache
	c.Reconfigure(configMaps())
	mustCreate(t, c, "a/y", "1")
	l := mustList(t, c, ListOptions{Read: Read{Match: Any, View: v}, Field: "node", Value: ""})
	if got := listedKeys(l); !slices.Equal(got, []string{"a/x"}) { // the state at which the window begins
		t.Errorf("the view has %v", got)
	}
}
