package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestWriteAndRead(t *testing.T) {
	s, c := startStore(t, Options{})
	ctx := t.Context()
	if _, err := c.Get(ctx, "a/x", Read{}); !errors.Is(err, ErrNotFound) {
		t.Fatalf("get of a missing key: %v", err)
	}
	made := mustCreate(t, c, "a/x", "1")
	if _, err := c.Create(ctx, "a/x", configMap("a/x", "2")); !errors.Is(err, ErrExists) {
		t.Errorf("second create: %v", err)
	}
	got, err := c.Get(ctx, "a/x", Read{})
	if err != nil {
		t.Fatal(err)
	}
	if got != made {
		t.Errorf("the cache has another item than the write returned")
	}
	if o, _ := got.Object(); o.GetResourceVersion() != fmt.Sprint(got.Revision()) || got.Namespace() != "a" || got.Name() != "x" {
		t.Errorf("resourceVersion %s, revision %d, %s %s", o.GetResourceVersion(), got.Revision(), got.Namespace(), got.Name())
	}
	if same := mustUpdate(t, c, got, "1"); same != got {
		t.Errorf("an update that changes nothing made a new version")
	}
	second := mustUpdate(t, c, got, "2")
	if second.Revision() <= got.Revision() || configMapValue(t, second) != "2" {
		t.Errorf("update: %d %s", second.Revision(), configMapValue(t, second))
	}
	for _, stale := range []string{"1", "3"} { // without and with a change
		var conflict *ConflictError
		if _, err := c.Update(ctx, got, configMap("a/x", stale)); !errors.As(err, &conflict) || conflict.Current.Revision() != second.Revision() {
			t.Errorf("stale update: %v", err)
		}
	}
	var conflict *ConflictError
	if _, err := c.Delete(ctx, got); !errors.As(err, &conflict) {
		t.Errorf("stale delete: %v", err)
	}
	gone := mustDelete(t, c, second)
	if gone.Revision() <= second.Revision() || configMapValue(t, gone) != "2" {
		t.Errorf("delete: %d %s", gone.Revision(), configMapValue(t, gone))
	}
	if _, err := c.Get(ctx, "a/x", Read{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("get of a deleted key: %v", err)
	}
	if _, err := c.Delete(ctx, second); !errors.Is(err, ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
	if _, err := c.Update(ctx, second, configMap("a/x", "9")); !errors.Is(err, ErrNotFound) {
		t.Errorf("update of a deleted key: %v", err)
	}
	if rev, err := s.Revision(ctx); err != nil || rev != gone.Revision() {
		t.Errorf("revision %d, %v, want %d", rev, err, gone.Revision())
	}
	if err := s.Healthy(ctx); err != nil {
		t.Error(err)
	}
}

func TestTooLarge(t *testing.T) {
	_, c := startStore(t, Options{})
	_, err := c.Create(t.Context(), "a/x", configMap("a/x", strings.Repeat("x", 2<<20)))
	if !errors.Is(err, ErrTooLarge) || err.Error() != "etcdserver: request is too large" {
		t.Error(err)
	}
}

func TestTTL(t *testing.T) {
	s := openStore(t, Options{})
	config := configMaps()
	config.TTL = time.Second
	c, err := s.Collection(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := mustWatch(t, c, WatchOptions{})
	for _, key := range []string{"a/x", "a/y"} {
		if _, err := c.Create(t.Context(), key, configMap(key, "")); err != nil {
			t.Fatal(err)
		}
	}
	events := nextEvents(t, w, 4)
	if events[2].Type != Deleted || events[3].Type != Deleted {
		t.Errorf("%v", events)
	}
	for range 2 {
		id, err := s.leases.get(t.Context(), s, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := s.leases.get(t.Context(), s, time.Hour); again != id {
			t.Errorf("keys of the same TTL do not share a lease")
		}
	}
}

// TestBadValue stores a value that cannot be decoded. It is an item; a list with Verify
// reports it, and a watch skips it and ends when it is deleted.
func TestBadValue(t *testing.T) {
	s, c := startStore(t, Options{})
	w := mustWatch(t, c, WatchOptions{})
	if _, err := s.Client().Put(t.Context(), "/registry/configmaps/a/x", "no JSON"); err != nil {
		t.Fatal(err)
	}
	good := mustCreate(t, c, "a/y", "1")
	for e := nextEvents(t, w, 1)[0]; e.Item.Key() != good.Key(); e = nextEvents(t, w, 1)[0] {
		if e.Item.Corrupt() == nil { // the value had not been decoded when it was sent
			t.Errorf("%v", e)
		}
	}
	i, err := c.Get(t.Context(), "a/x", Read{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Object(); err == nil || i.Corrupt() == nil {
		t.Errorf("decoded: %v", err)
	}
	if i.Labels() != "" || i.Fields() != "" || string(i.Value()) != "no JSON" {
		t.Errorf("%v %v", i.Labels(), i.Fields())
	}
	got := mustList(t, c, ListOptions{})
	if len(got.Items) != 2 {
		t.Errorf("listed %v", listedKeys(got))
	}
	if objects, err := got.Objects(); err == nil {
		t.Errorf("decoded %v", objects)
	}
	if objects, err := mustList(t, c, ListOptions{Key: "a/y"}).Objects(); err != nil || len(objects) != 1 || objects[0].GetName() != "y" {
		t.Errorf("decoded %v, %v", objects, err)
	}
	verified := func(o ListOptions, want int) {
		t.Helper()
		o.Verify = true
		_, err := c.List(t.Context(), o)
		var bad *CorruptListError
		if errors.As(err, &bad) != (want > 0) || bad != nil && (len(bad.Items) != want || bad.Items[0].Path != "/registry/configmaps/a/x") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for range 2 { // before and after it was decoded
		verified(ListOptions{}, 1)
		verified(ListOptions{Limit: 1}, 1)
		verified(ListOptions{Key: "a/x"}, 1)
		verified(ListOptions{Key: "a/y"}, 0)
		verified(ListOptions{Prefix: "b/"}, 0)
		verified(ListOptions{After: "a/x"}, 0)
		verified(ListOptions{Read: Read{Match: Exact, Revision: i.Revision()}}, 1)
	}
	mustDelete(t, c, i)
	verified(ListOptions{}, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		events, err := w.Next(ctx)
		var deleted *CorruptDeletedError
		if err != nil {
			if !errors.As(err, &deleted) {
				t.Errorf("the watch ended with %v", err)
			}
			break
		}
		for _, e := range events {
			t.Errorf("%v", e)
		}
	}
}

func TestRestart(t *testing.T) {
	dir := t.TempDir()
	s, c := startStore(t, Options{Dir: dir})
	first := mustCreate(t, c, "a/x", "1")
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use by another server") {
		t.Errorf("second open: %v", err)
	}
	old := mustUpdate(t, c, first, "2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "a/x", Read{}); !errors.Is(err, ErrClosed) {
		t.Errorf("get after close: %v", err)
	}
	_, c = startStore(t, Options{Dir: dir})
	got, err := c.Get(t.Context(), "a/x", Read{})
	if err != nil || got.Revision() != old.Revision() || configMapValue(t, got) != "2" {
		t.Fatalf("%v %v", got, err)
	}
	// The history is still in etcd.
	w := mustWatch(t, c, WatchOptions{Revision: first.Revision()})
	if e := nextEvents(t, w, 1)[0]; e.Type != Modified || e.Revision != old.Revision() {
		t.Errorf("%v", e)
	}
	l := mustList(t, c, ListOptions{Read: Read{Match: Exact, Revision: first.Revision()}})
	if len(l.Items) != 1 || configMapValue(t, l.Items[0]) != "1" || l.Revision != first.Revision() {
		t.Errorf("%v", l)
	}
}

func TestEphemeral(t *testing.T) {
	dir := t.TempDir() + "/data"
	s, _ := startStore(t, Options{Dir: dir, Ephemeral: true})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	bad := t.TempDir() + "/bad.pem"
	if err := os.WriteFile(bad, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"no data directory":        {},
		"is not a directory":       {Dir: file},
		"no PEM certificate found": {Servers: []string{"https://127.0.0.1:1"}, CAFile: bad},
		bad:                        {Servers: []string{"https://127.0.0.1:1"}, CertFile: bad, KeyFile: bad},
		"does not answer":          {Servers: []string{"http://127.0.0.1:1"}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		s, err := Open(ctx, o)
		cancel()
		if err == nil {
			t.Errorf("%s: opened", name)
			s.Close()
			continue
		}
		if strings.Contains(err.Error(), "\n") || (!strings.Contains(err.Error(), name) && name != "is not a directory") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestManyStores(t *testing.T) {
	const stores = 20
	var wg sync.WaitGroup
	for range stores {
		wg.Go(func() {
			_, c := startStore(t, Options{})
			w := mustWatch(t, c, WatchOptions{})
			mustCreate(t, c, "a/x", "1")
			nextEvents(t, w, 1)
		})
	}
	wg.Wait()
}

func TestLateCollection(t *testing.T) {
	s, c := startStore(t, Options{})
	ctx := t.Context()
	for n := range 3 {
		if _, err := s.Client().Put(ctx, fmt.Sprintf("/registry/example.com/widgets/a/w%d", n), "{}"); err != nil {
			t.Fatal(err)
		}
	}
	cfg := configMaps()
	cfg.Prefix = "example.com/widgets"
	widgets, err := s.Collection(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if l := mustList(t, widgets, ListOptions{}); len(l.Items) != 3 {
		t.Errorf("%v", listedKeys(l))
	}
	w := mustWatch(t, widgets, WatchOptions{})
	mustCreate(t, widgets, "a/w3", "")
	nextEvents(t, w, 1)
	if l := mustList(t, c, ListOptions{}); len(l.Items) != 0 {
		t.Errorf("in the other collection: %v", listedKeys(l))
	}
	if _, err := s.Collection(cfg); err == nil {
		t.Error("registered twice")
	}
	widgets.Close()
	if _, err := w.Next(ctx); !errors.Is(err, ErrRemoved) {
		t.Errorf("watch of a closed collection: %v", err)
	}
	if _, err := widgets.List(ctx, ListOptions{}); !errors.Is(err, ErrRemoved) {
		t.Errorf("list of a closed collection: %v", err)
	}
	if widgets, err = s.Collection(cfg); err != nil {
		t.Fatal(err)
	}
	if l := mustList(t, widgets, ListOptions{}); len(l.Items) != 4 {
		t.Errorf("%v", listedKeys(l))
	}
}

func TestReusesItemsOfWrites(t *testing.T) {
	_, c := startStore(t, Options{})
	w := mustWatch(t, c, WatchOptions{})
	made := mustCreate(t, c, "a/x", "1")
	gone := mustDelete(t, c, made)
	events := nextEvents(t, w, 2)
	if events[0].Item != made || events[1].Item != gone {
		t.Error("the watch brought other items than the writes returned")
	}
	c.handoff.mu.Lock()
	defer c.handoff.mu.Unlock()
	if len(c.handoff.keys) != 0 {
		t.Errorf("left over: %v", c.handoff.keys)
	}
}

func TestClient(t *testing.T) {
	s, c := startStore(t, Options{Prefix: "other/place/"})
	mustCreate(t, c, "a/x", "1")
	resp, err := s.Client().Get(t.Context(), "/other/place/configmaps/a/x", clientv3.WithKeysOnly())
	if err != nil || len(resp.Kvs) != 1 {
		t.Errorf("%v %v", resp, err)
	}
}
