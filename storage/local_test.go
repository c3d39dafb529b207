package storage

import (
	"errors"
	"slices"
	"testing"
)

// startLocal returns a collection of a local store.
func startLocal(t testing.TB, o Options) *Collection {
	t.Helper()
	s := NewLocal(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := s.Collection(configMaps())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLocal checks writes, reads and watches of a store without an etcd.
func TestLocal(t *testing.T) {
	c := startLocal(t, Options{})
	w := mustWatch(t, c, WatchOptions{Initial: true, InitialEventsEnd: true})
	first := mustCreate(t, c, "a/x", "1", "l", "1")
	if _, err := c.Create(t.Context(), "a/x", configMap("a/x", "2")); !errors.Is(err, ErrExists) {
		t.Errorf("a second create: %v", err)
	}
	second := mustUpdate(t, c, first, "2")
	var conflict *ConflictError
	if _, err := c.Update(t.Context(), first, configMap("a/x", "3")); !errors.As(err, &conflict) || conflict.Current.Revision() != second.Revision() {
		t.Errorf("an update of an older state: %v", err)
	}
	if same := mustUpdate(t, c, second, "2"); same != second {
		t.Error("an update without a change wrote")
	}
	if _, err := c.Update(t.Context(), first, configMap("a/x", "1", "l", "1")); !errors.As(err, &conflict) {
		t.Errorf("an update of an older state without a change: %v", err)
	}
	mustCreate(t, c, "b/y", "1")
	l := mustList(t, c, ListOptions{Prefix: "a/"})
	if keys := listedKeys(l); !slices.Equal(keys, []string{"a/x"}) {
		t.Errorf("listed %v", keys)
	}
	if old := mustList(t, c, ListOptions{Read: Read{Match: Exact, Revision: first.Revision()}}); len(old.Items) != 1 || old.Items[0] != first {
		t.Errorf("the state of the first revision is %v", old.Items)
	}
	mustDelete(t, c, second)
	if _, err := c.Get(t.Context(), "a/x", Read{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a deleted object: %v", err)
	}
	if got, want := describeEvents(t, nextEvents(t, w, 5)), "| +a/x=1 ~a/x=2 +b/y=1 -a/x=2 "; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	if again := mustWatch(t, c, WatchOptions{Revision: second.Revision()}); describeEvents(t, nextEvents(t, again, 2)) != "+b/y=1 -a/x=2 " {
		t.Error("a watch from the second revision has other events")
	}
}

// TestApplyLocal checks that many changes at a time are events of their own, and that the past ends with the window.
func TestApplyLocal(t *testing.T) {
	c := startLocal(t, Options{WindowBytes: 4096})
	start := mustCreate(t, c, "a/start", "1")
	w := mustWatch(t, c, WatchOptions{})
	value := start.Value()
	c.ApplyLocal([]LocalChange{{"a/x", value}, {"a/y", value}, {"a/x", nil}, {"a/missing", nil}})
	if got, want := describeEvents(t, nextEvents(t, w, 3)), "+a/x=1 +a/y=1 -a/x=1 "; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	if keys := listedKeys(mustList(t, c, ListOptions{})); !slices.Equal(keys, []string{"a/start", "a/y"}) {
		t.Errorf("listed %v", keys)
	}
	for range 100 {
		c.ApplyLocal([]LocalChange{{"a/x", value}, {"a/x", nil}})
	}
	var compacted *CompactedError
	if _, err := c.Watch(t.Context(), WatchOptions{Revision: start.Revision()}); !errors.As(err, &compacted) {
		t.Errorf("a watch from before the window: %v", err)
	}
	if _, err := c.List(t.Context(), ListOptions{Read: Read{Match: Exact, Revision: start.Revision()}}); !errors.As(err, &compacted) {
		t.Errorf("a list from before the window: %v", err)
	}
	if _, err := c.Get(t.Context(), "a/start", Read{Match: Exact, Revision: start.Revision()}); !errors.As(err, &compacted) {
		t.Errorf("a get from before the window: %v", err)
	}
}

// BenchmarkApplyLocal measures a change by a batch of 20 and the removal of an older object.
func BenchmarkApplyLocal(b *testing.B) {
	c := startLocal(b, Options{WindowBytes: 1 << 20})
	value := mustCreate(b, c, "a/start", "1").Value()
	var batch []LocalChange
	b.ReportAllocs()
	for n := range b.N {
		batch = append(batch, LocalChange{Key: "a/" + keyOf(n), Value: value})
		if n >= 10000 {
			batch = append(batch, LocalChange{Key: "a/" + keyOf(n-10000)})
		}
		if len(batch) >= 40 {
			c.ApplyLocal(batch)
			batch = batch[:0]
		}
	}
}

// keyOf returns a key whose position in the tree does not follow from n.
func keyOf(n int) string {
	const digits = "0123456789abcdef"
	b, h := make([]byte, 16), uint64(n)*0x9e3779b97f4a7c15
	for i := range b {
		b[i] = digits[h>>(4*i)&15]
	}
	return string(b)
}
