package storage

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestListSelects(t *testing.T) {
	_, c := startStore(t, Options{})
	for _, key := range []string{"a-b/x", "a/x", "a/y", "a/z", "b/x", "ab/x"} {
		mustCreate(t, c, key, "", "name", key[len(key)-1:])
	}
	x := func(i *Item) bool { return i.Labels().Get("name") == "x" }
	for name, tt := range map[string]struct {
		o         ListOptions
		want      []string
		next      string
		remaining int64
	}{
		"all":           {ListOptions{}, []string{"a-b/x", "a/x", "a/y", "a/z", "ab/x", "b/x"}, "", 0},
		"prefix":        {ListOptions{Prefix: "a/"}, []string{"a/x", "a/y", "a/z"}, "", 0},
		"empty prefix":  {ListOptions{Prefix: "c/"}, nil, "", 0},
		"key":           {ListOptions{Key: "a/y"}, []string{"a/y"}, "", 0},
		"key, no match": {ListOptions{Key: "a/y", Filter: x}, nil, "", 0},
		"no such key":   {ListOptions{Key: "a/v"}, nil, "", 0},
		"limit":         {ListOptions{Limit: 2}, []string{"a-b/x", "a/x"}, "a/x", 4},
		"limit of all":  {ListOptions{Limit: 6}, []string{"a-b/x", "a/x", "a/y", "a/z", "ab/x", "b/x"}, "", 0},
		"after":         {ListOptions{After: "a/x", Limit: 3}, []string{"a/y", "a/z", "ab/x"}, "ab/x", 1},
		"prefix, limit": {ListOptions{Prefix: "a/", Limit: 1}, []string{"a/x"}, "a/x", 2},
		"prefix, after": {ListOptions{Prefix: "a/", After: "a/x", Limit: 1}, []string{"a/y"}, "a/y", 1},
		"after the end": {ListOptions{Prefix: "a/", After: "a/z"}, nil, "", 0},
		"filter":        {ListOptions{Filter: x}, []string{"a-b/x", "a/x", "ab/x", "b/x"}, "", 0},
		// The rest may have nothing that is selected, as in kube-apiserver.
		"filter, rest":  {ListOptions{Filter: x, Prefix: "a/", Limit: 1}, []string{"a/x"}, "a/x", -1},
		"filter, limit": {ListOptions{Filter: x, Limit: 2}, []string{"a-b/x", "a/x"}, "a/x", -1},
	} {
		for from, o := range map[string]ListOptions{"cache": tt.o, "etcd": tt.o} {
			var l *List
			if from == "cache" {
				l = mustList(t, c, o)
			} else {
				var err error
				if l, err = c.listFromEtcd(t.Context(), &o, 0); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(listedKeys(l), tt.want) || l.Next != tt.next || l.Remaining != tt.remaining {
				t.Errorf("%s, %s: %v next %q remaining %d", name, from, listedKeys(l), l.Next, l.Remaining)
			}
		}
	}
}

func TestListByField(t *testing.T) {
	_, c := startStore(t, Options{})
	put := func(key, node string) *Item {
		cm := configMap(key, "")
		cm.Data["node"] = node
		i, err := c.Create(t.Context(), key, cm)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	put("a/x", "1")
	put("a/y", "2")
	z := put("b/z", "1")
	v := put("b/v", "")
	on := func(node, prefix string) []string {
		return listedKeys(mustList(t, c, ListOptions{Field: "node", Value: node, Prefix: prefix}))
	}
	if got := on("1", ""); !slices.Equal(got, []string{"a/x", "b/z"}) {
		t.Error(got)
	}
	if got := on("1", "b/"); !slices.Equal(got, []string{"b/z"}) {
		t.Error(got)
	}
	page := mustList(t, c, ListOptions{Field: "node", Value: "1", Limit: 1})
	if page.Next != "a/x" || page.Remaining != -1 {
		t.Error(page)
	}
	page = mustList(t, c, ListOptions{Field: "node", Value: "1", Limit: 1, After: page.Next, Read: Read{Match: Exact, Revision: page.Revision}})
	if !slices.Equal(listedKeys(page), []string{"b/z"}) || page.Next != "" {
		t.Error(page)
	}
	moved := configMap("b/v", "")
	moved.Data["node"] = "1"
	if _, err := c.Update(t.Context(), v, moved); err != nil {
		t.Fatal(err)
	}
	mustDelete(t, c, z)
	if got := on("1", ""); !slices.Equal(got, []string{"a/x", "b/v"}) {
		t.Error(got)
	}
	if got := on("", ""); got != nil {
		t.Error(got)
	}
}

func TestExact(t *testing.T) {
	for name, bytes := range map[string]int64{"from the window": 0, "from etcd": 1} {
		t.Run(name, func(t *testing.T) {
			_, c := startStore(t, Options{WindowBytes: bytes})
			var want [][]string // by revision
			first := mustCreate(t, c, "a/0", "").Revision()
			want = append(want, []string{"a/0"})
			for n := 1; n < 5; n++ {
				mustCreate(t, c, fmt.Sprint("a/", n), "")
				want = append(want, append(slices.Clone(want[n-1]), fmt.Sprint("a/", n)))
			}
			for _, i := range mustList(t, c, ListOptions{}).Items {
				mustDelete(t, c, i)
				want = append(want, slices.Clone(want[len(want)-1][1:]))
			}
			for n, keysThen := range want {
				rev := first + int64(n)
				l := mustList(t, c, ListOptions{Read: Read{Match: Exact, Revision: rev}})
				if !slices.Equal(listedKeys(l), keysThen) || l.Revision != rev {
					t.Errorf("at %d: %v, want %v", rev, listedKeys(l), keysThen)
				}
			}
			if i, err := c.Get(t.Context(), "a/2", Read{Match: Exact, Revision: first + 2}); err != nil || i.Key() != "a/2" {
				t.Errorf("%v %v", i, err)
			}
			if _, err := c.Get(t.Context(), "a/2", Read{Match: Exact, Revision: first + 1}); !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

// TestPagesBeforeTheCache lists pages while the cache lags behind etcd. All of them must
// come from etcd.
func TestPagesBeforeTheCache(t *testing.T) {
	s, c := startStore(t, Options{FutureWait: time.Millisecond})
	s.applyMu.Lock() // stops the cache
	defer s.applyMu.Unlock()
	for n := range 3 {
		mustCreate(t, c, fmt.Sprint("a/", n), "")
	}
	o := ListOptions{Limit: 2}
	page := mustList(t, c, o)
	o.Read, o.After = Read{Match: Exact, Revision: page.Revision}, page.Next
	if rest := mustList(t, c, o); !slices.Equal(listedKeys(rest), []string{"a/2"}) || rest.Revision != page.Revision {
		t.Errorf("%v at %d, after %v at %d", listedKeys(rest), rest.Revision, listedKeys(page), page.Revision)
	}
	var future *FutureRevisionError
	o.Read.Revision += 10
	if _, err := c.List(t.Context(), o); !errors.As(err, &future) {
		t.Errorf("of a future revision: %v", err)
	}
}

func TestPagesAreOneSnapshot(t *testing.T) {
	_, c := startStore(t, Options{WindowBytes: 1}) // so that only the cached states have the old revision
	for n := range 10 {
		mustCreate(t, c, fmt.Sprint("a/", n), "old")
	}
	page := mustList(t, c, ListOptions{Limit: 3})
	got := listedKeys(page)
	for n := range 10 {
		i, err := c.Get(t.Context(), fmt.Sprint("a/", n), Read{})
		if err != nil {
			t.Fatal(err)
		}
		mustDelete(t, c, i)
		mustCreate(t, c, fmt.Sprint("a/", n, "new"), "new")
	}
	for page.Next != "" {
		rev := page.Revision
		page = mustList(t, c, ListOptions{Limit: 3, After: page.Next, Read: Read{Match: Exact, Revision: rev}})
		if page.Revision != rev {
			t.Errorf("revision %d after %d", page.Revision, rev)
		}
		got = append(got, listedKeys(page)...)
	}
	if len(got) != 10 || got[9] != "a/9" {
		t.Error(got)
	}
}

func TestFutureRevision(t *testing.T) {
	s, c := startStore(t, Options{FutureWait: 50 * time.Millisecond})
	rev := mustCreate(t, c, "a/x", "").Revision()
	for _, m := range []Match{NotOlderThan, Exact} {
		var future *FutureRevisionError
		_, err := c.List(t.Context(), ListOptions{Read: Read{Match: m, Revision: rev + 10}})
		if !errors.As(err, &future) || future.Wanted != rev+10 || future.Current != rev {
			t.Errorf("%v: %v", m, err)
		}
		if l := mustList(t, c, ListOptions{Read: Read{Match: m, Revision: rev}}); l.Revision != rev {
			t.Errorf("%v: revision %d", m, l.Revision)
		}
	}
	s.opts.FutureWait = 10 * time.Second
	done := make(chan error)
	go func() {
		_, err := c.Get(t.Context(), "a/y", Read{Match: NotOlderThan, Revision: rev + 1})
		done <- err
	}()
	mustCreate(t, c, "a/y", "")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCompacted(t *testing.T) {
	s, c := startStore(t, Options{WindowBytes: 1})
	old := mustCreate(t, c, "a/x", "1")
	now := mustUpdate(t, c, mustUpdate(t, c, old, "2"), "3")
	if err := s.compactOnce(t.Context()); err != nil { // learns the current revision
		t.Fatal(err)
	}
	if err := s.compactOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	var compacted *CompactedError
	if _, err := c.List(t.Context(), ListOptions{Read: Read{Match: Exact, Revision: old.Revision()}}); !errors.As(err, &compacted) || compacted.Compacted < now.Revision() {
		t.Errorf("list: %v", err)
	}
	if _, err := c.Watch(t.Context(), WatchOptions{Revision: old.Revision()}); !errors.As(err, &compacted) {
		t.Errorf("watch: %v", err)
	}
	if l := mustList(t, c, ListOptions{}); len(l.Items) != 1 {
		t.Error(listedKeys(l))
	}
}

// TestCompactedUnchanged checks that a compacted revision cannot be listed, although no object of the collection
// has changed since: otherwise the continue tokens of such a collection would never expire.
func TestCompactedUnchanged(t *testing.T) {
	s, c := startStore(t, Options{})
	mustCreate(t, c, "a/x", "1")
	rev := mustList(t, c, ListOptions{}).Revision
	for range 3 { // each compacts to the revision of the one before, and writes a key
		if err := s.compactOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var compacted *CompactedError
	if _, err := c.List(t.Context(), ListOptions{Read: Read{Match: Exact, Revision: rev}}); !errors.As(err, &compacted) {
		t.Errorf("list: %v", err)
	}
	if l := mustList(t, c, ListOptions{}); len(l.Items) != 1 {
		t.Error(listedKeys(l))
	}
}

// TestCompactionIsShared runs the compaction of two servers on one etcd.
func TestCompactionIsShared(t *testing.T) {
	s, c := startStore(t, Options{})
	other := &Store{opts: s.opts, log: s.log, client: s.client, metrics: s.metrics, routes: map[string]*Collection{}}
	for n, each := range []*Store{s, other, other, s, s, s} {
		mustCreate(t, c, fmt.Sprint("a/", n), "")
		if err := each.compactOnce(t.Context()); err != nil {
			t.Fatal(n, err)
		}
	}
	resp, err := s.client.Get(t.Context(), compactKey)
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatal(err)
	}
	// In this order: s compacts nothing, other loses the election, other compacts, s loses,
	// s compacts twice.
	if resp.Kvs[0].Version != 4 {
		t.Errorf("version %d, value %s", resp.Kvs[0].Version, resp.Kvs[0].Value)
	}
	if s.compacted.Load() == 0 || other.compacted.Load() == 0 {
		t.Errorf("compacted %d, %d", s.compacted.Load(), other.compacted.Load())
	}
}
