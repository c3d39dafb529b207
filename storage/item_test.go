package storage

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/miniapiserver/miniapiserver/api"
)

// countingItem returns an item that counts how often it is decoded.
func countingItem(t *testing.T, decoded *atomic.Int32) *Item {
	t.Helper()
	cfg := configMaps()
	value, err := cfg.Encode(configMap("a/x", "1", "k", "v"))
	if err != nil {
		t.Fatal(err)
	}
	decode := cfg.Decode
	cfg.Decode = func(b []byte) (api.Object, error) {
		decoded.Add(1)
		return decode(b)
	}
	return &Item{config: &itemConfig{CollectionConfig: cfg, onError: func(*Item, error) {}}, key: "a/x", rev: 7, value: value}
}

func TestEncodingIsMadeOnce(t *testing.T) {
	var decoded, made atomic.Int32
	i := countingItem(t, &decoded)
	var wg sync.WaitGroup
	slots := []*Slot{NewSlot(), NewSlot(), NewSlot()}
	for n := range 30 {
		wg.Go(func() {
			slot := n % 3
			got, err := i.Encoding(slots[slot], func(o api.Object) ([]byte, error) {
				made.Add(1)
				return fmt.Appendf(nil, "%d %s", slot, o.GetResourceVersion()), nil
			})
			if err != nil || string(got) != fmt.Sprintf("%d 7", slot) {
				t.Errorf("slot %d: %s %v", slot, got, err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 3 {
		t.Errorf("encoded %d times", made.Load())
	}
	bad := errors.New("bad")
	if _, err := i.Encoding(NewSlot(), func(api.Object) ([]byte, error) { return nil, bad }); err != bad {
		t.Error(err)
	}
}

func TestObjectIsSharedWhileUsed(t *testing.T) {
	var decoded atomic.Int32
	i := countingItem(t, &decoded)
	one, _ := i.Object()
	two, _ := i.Object()
	if one != two || i.Labels().Get("k") != "v" || i.Fields() == "" {
		t.Error("not shared")
	}
	runtime.GC()
	runtime.GC()
	if i.Labels().Get("k") != "v" {
		t.Error("labels were dropped")
	}
	if three, err := i.Object(); err != nil || three.GetName() != "x" {
		t.Error(err)
	}
	gone := i.atRevision(9)
	if o, _ := gone.Object(); o.GetResourceVersion() != "9" || gone.Labels().Get("k") != "v" {
		t.Error(o)
	}
}

func TestWindow(t *testing.T) {
	now := time.Unix(1000, 0)
	w := changeWindow{span: time.Minute, limit: 1 << 20}
	w.reset(10)
	for rev := int64(11); rev <= 20; rev++ {
		w.add(&transition{rev: rev}, now)
		now = now.Add(10 * time.Second)
		w.trim(now)
	}
	// The changes are ten seconds apart, so six fit in a minute.
	if len(w.changes) != 6 || w.since != 14 || w.bytes != 6*96 {
		t.Errorf("%d changes since %d, %d bytes", len(w.changes), w.since, w.bytes)
	}
	if after := w.after(18); len(after) != 2 || after[0].rev != 19 {
		t.Error(after)
	}
	w.extend(12, []*transition{{rev: 13}, {rev: 14}}, now)
	if after := w.after(12); len(after) != 8 || after[0].rev != 13 || w.since != 12 {
		t.Error(after)
	}
	w.limit = 3 * 96
	w.trim(now)
	if len(w.changes) != 3 || w.since != 17 {
		t.Errorf("%d changes since %d", len(w.changes), w.since)
	}
}

// TestShared checks that no caller gets an answer to a request that began before its call.
func TestShared(t *testing.T) {
	var s sharedRequest
	var wg, flights sync.WaitGroup
	spawn := func(f func()) { flights.Go(f) }
	var clock, asked atomic.Int64
	ask := func() (int64, error) {
		asked.Add(1)
		now := clock.Load()
		runtime.Gosched()
		return now, nil
	}
	for range 8 {
		wg.Go(func() {
			for range 500 {
				before := clock.Add(1)
				if got, err := s.do(t.Context(), spawn, ask); err != nil || got < before {
					t.Errorf("got %d after %d, %v", got, before, err)
				}
			}
		})
	}
	wg.Wait()
	flights.Wait()
	if asked.Load() > 8*500 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// TestAdopted checks that an item owns the object that was written, unless the collection
// was reconfigured since its predecessor was read: it may share memory with that
// object, which others read.
func TestAdopted(t *testing.T) {
	s := openStore(t, Options{})
	var asked int
	config := configMaps()
	config.AsStored = func(api.Object) bool { asked++; return true }
	c, err := s.Collection(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	obj := configMap("a/b", "1")
	old, err := c.Create(t.Context(), "a/b", obj)
	if err != nil {
		t.Fatal(err)
	}
	old = mustUpdate(t, c, old, "2")
	if asked != 2 {
		t.Errorf("asked %d times, want twice", asked)
	}
	c.Reconfigure(config)
	is := configMap("a/b", "3")
	after, err := c.Update(t.Context(), old, is)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := after.Object(); asked != 2 || err != nil || got == is || configMapValue(t, after) != "3" {
		t.Errorf("asked %d times, got %v, %v", asked, got, err)
	}
	if is.ResourceVersion != strconv.FormatInt(after.Revision(), 10) {
		t.Errorf("resourceVersion is %q", is.ResourceVersion)
	}
	if mustUpdate(t, c, after, "4"); asked != 3 {
		t.Errorf("asked %d times, want three times", asked)
	}
}

// TestWatchIsFirst delivers watch events before the writes that caused them return. If
// several writes put the same value, an event takes the object of only one of them.
func TestWatchIsFirst(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would free the items' objects
	_, c := startStore(t, Options{})
	of := *c.config()
	of.AsStored = func(api.Object) bool { return true }
	c.settings.Store(&of)
	begin := func(text string) *keyWrite {
		w := &keyWrite{value: []byte(text), stored: []byte(text), obj: configMap("a/b", text)}
		w.normalizeObject(&of)
		c.handoff.begin("a/b", w)
		return w
	}
	one, two, other := begin("1"), begin("1"), begin("2")
	objects := []api.Object{one.obj, two.obj, other.obj}
	bring := func(rev int64, text string) *Item {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.transition(keyEvent{"a/b", &mvccpb.Event{Kv: &mvccpb.KeyValue{Value: []byte(text), ModRevision: rev}}}).item
	}
	finish := func(w *keyWrite, rev int64) *Item {
		return c.handoff.finish("a/b", w, rev, func() *Item { return w.item(&of, "a/b", rev) })
	}
	first := bring(7, "1")
	if got := finish(two, 7); got != first {
		t.Errorf("the write has another item than the watch: %v", got)
	}
	if got, err := first.Object(); err != nil || got != objects[0] && got != objects[1] || got.GetResourceVersion() != "7" {
		t.Errorf("the item has %v, %v", got, err)
	}
	if finish(one, 0) != nil {
		t.Error("a write that failed has an item")
	}
	second := finish(other, 8)
	if got := bring(8, "2"); got != second {
		t.Errorf("the watch has another item than the write: %v", got)
	}
	if got, err := second.Object(); err != nil || got != objects[2] {
		t.Errorf("the item has %v, %v", got, err)
	}
	if len(c.handoff.keys) != 0 {
		t.Errorf("left over: %v", c.handoff.keys)
	}
}
