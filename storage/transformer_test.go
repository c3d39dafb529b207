package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// testCipher is a Transformer that inverts values, after a prefix with a version and the key.
type testCipher struct {
	version atomic.Int64          // with which values are encrypted
	fault   atomic.Pointer[error] // returned by Decrypt
	reads   atomic.Int64          // calls of Decrypt
}

func (c *testCipher) Encrypt(_ context.Context, key string, value []byte) ([]byte, error) {
	return append(fmt.Appendf(nil, "k8s:enc:test:%d:%s:", c.version.Load(), key), invertBytes(value)...), nil
}

var errTestCipher = errors.New("no such key")

func (c *testCipher) Decrypt(_ context.Context, key string, stored []byte) ([]byte, bool, error) {
	c.reads.Add(1)
	if err := c.fault.Load(); err != nil {
		return nil, false, *err
	}
	for version := range c.version.Load() + 1 {
		if value, ok := bytes.CutPrefix(stored, fmt.Appendf(nil, "k8s:enc:test:%d:%s:", version, key)); ok {
			return invertBytes(value), version != c.version.Load(), nil
		}
	}
	return nil, false, errTestCipher
}

func invertBytes(b []byte) []byte {
	inverted := make([]byte, len(b))
	for n, c := range b {
		inverted[n] = ^c
	}
	return inverted
}

func encryptedConfigMaps(c *testCipher) CollectionConfig {
	cfg := configMaps()
	cfg.Transformer = c
	return cfg
}

// startEncrypted starts a store with an encrypted collection of configMaps.
func startEncrypted(t testing.TB, o Options) (*Store, *Collection, *testCipher) {
	t.Helper()
	s, cipher := openStore(t, o), &testCipher{}
	c, err := s.Collection(encryptedConfigMaps(cipher))
	if err = errors.Join(err, s.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	return s, c, cipher
}

// etcdValue returns what etcd has for a key below the prefix.
func etcdValue(t testing.TB, s *Store, key string) string {
	t.Helper()
	value, _, err := s.Value(t.Context(), key)
	if err != nil || value == nil {
		t.Fatalf("%s: %q, %v", key, value, err)
	}
	return string(value)
}

// TestEncryptedValues checks that etcd has no value in plain text, and that all ways to read
// return the plain values.
func TestEncryptedValues(t *testing.T) {
	s, c, cipher := startEncrypted(t, Options{})
	w := mustWatch(t, c, WatchOptions{Initial: true})
	first := mustCreate(t, c, "a/x", "secret-1", "app", "one")
	second := mustUpdate(t, c, first, "secret-2", "app", "one")
	if err := s.CreateAll(t.Context(), []NewObject{{c, "a/y", configMap("a/y", "secret-3")}}); err != nil {
		t.Fatal(err)
	}
	if n := cipher.reads.Load(); n != 0 {
		t.Errorf("%d values were decrypted, but this store wrote them", n)
	}
	for _, key := range []string{"a/x", "a/y"} {
		if got := etcdValue(t, s, "configmaps/"+key); !strings.HasPrefix(got, "k8s:enc:test:0:/registry/configmaps/"+key+":") || strings.Contains(got, "secret") {
			t.Errorf("%s: etcd has %q", key, got)
		}
	}
	events := nextEvents(t, w, 3)
	if events[1].Item != second || configMapValue(t, events[1].Item) != "secret-2" || configMapValue(t, events[2].Item) != "secret-3" {
		t.Errorf("events: %+v", events)
	}
	mustDelete(t, c, second)
	if e := nextEvents(t, w, 1)[0]; e.Type != Deleted || configMapValue(t, e.Item) != "secret-2" {
		t.Errorf("deletion: %+v", e)
	}
	old, err := c.getFromEtcd(t.Context(), "a/x", first.Revision())
	if err != nil || configMapValue(t, old) != "secret-1" {
		t.Errorf("an old revision: %v", err)
	}
	l, err := c.listFromEtcd(t.Context(), &ListOptions{Verify: true}, second.Revision())
	if err != nil || len(l.Items) != 1 || configMapValue(t, l.Items[0]) != "secret-2" || l.Items[0].Labels().Get("app") != "one" {
		t.Errorf("a list at an old revision: %+v, %v", l, err)
	}
}

// TestEncryptedWatchIsFirst delivers the watch event before the write that caused it returns. The
// event is recognized by the encrypted value, and is not decrypted.
func TestEncryptedWatchIsFirst(t *testing.T) {
	_, c, cipher := startEncrypted(t, Options{})
	w, err := c.newWrite(t.Context(), opCreate, "a/b", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	c.handoff.begin("a/b", w)
	c.mu.Lock()
	item := c.transition(keyEvent{"a/b", &mvccpb.Event{Kv: &mvccpb.KeyValue{Value: w.stored, ModRevision: 7}}}).item
	c.mu.Unlock()
	if cipher.reads.Load() != 0 || string(item.Value()) != "{}" {
		t.Errorf("%d values were decrypted, the item has %q", cipher.reads.Load(), item.Value())
	}
	if got := c.handoff.finish("a/b", w, 7, nil); got != item {
		t.Error("the write has another item than the watch")
	}
}

// TestStaleValue checks that an update without a change stores a stale value again, and only
// that.
func TestStaleValue(t *testing.T) {
	s, c, cipher := startEncrypted(t, Options{})
	item := mustCreate(t, c, "a/x", "v")
	before := etcdValue(t, s, "configmaps/a/x")
	if same := mustUpdate(t, c, item, "v"); same != item || etcdValue(t, s, "configmaps/a/x") != before {
		t.Error("a value that is not stale was stored again")
	}
	cipher.version.Store(1)
	again := mustUpdate(t, c, item, "v")
	if again.Revision() <= item.Revision() || !strings.HasPrefix(etcdValue(t, s, "configmaps/a/x"), "k8s:enc:test:1:") {
		t.Errorf("revision %d after %d: %q", again.Revision(), item.Revision(), etcdValue(t, s, "configmaps/a/x"))
	}
	if same := mustUpdate(t, c, again, "v"); same != again {
		t.Error("the value was stored a third time")
	}
	var conflict *ConflictError
	if _, err := c.Update(t.Context(), item, configMap("a/x", "v")); !errors.As(err, &conflict) || conflict.Current.Revision() != again.Revision() {
		t.Errorf("an update of an old item: %v", err)
	}
	mustDelete(t, c, again)
	if _, err := c.Update(t.Context(), again, configMap("a/x", "v")); !errors.Is(err, ErrNotFound) {
		t.Errorf("an update of a deleted item: %v", err)
	}
}

// TestUndecryptable checks values that cannot be decrypted for a while: alone they are errors,
// and they come back with their labels and indexes.
func TestUndecryptable(t *testing.T) {
	dir := t.TempDir()
	s, c, _ := startEncrypted(t, Options{Dir: dir})
	mustCreate(t, c, "a/x", "1", "app", "one")
	mustCreate(t, c, "a/y", "2")
	node := configMap("a/z", "3")
	node.Data["node"] = "n1"
	if _, err := c.Create(t.Context(), "a/z", node); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s, cipher := openStore(t, Options{Dir: dir}), &testCipher{}
	fault := errTestCipher
	cipher.fault.Store(&fault)
	c, err := s.Collection(encryptedConfigMaps(cipher))
	if err = errors.Join(err, s.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	item, err := c.Get(t.Context(), "a/x", Read{})
	if err != nil {
		t.Fatal(err)
	}
	const text = "StorageError: corrupt object, Code: 7, Key: /configmaps/a/x, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: no such key"
	if _, err := item.Object(); err == nil || err.Error() != text || !errors.Is(err, errTestCipher) {
		t.Errorf("%v, want %s", err, text)
	}
	var list *CorruptListError
	if _, err := c.List(t.Context(), ListOptions{Verify: true}); !errors.As(err, &list) || len(list.Items) != 3 {
		t.Errorf("list: %v", err)
	}
	s.DecryptAgain() // too early
	if item.Corrupt() == nil || len(mustList(t, c, ListOptions{Field: "node", Value: "n1"}).Items) != 0 {
		t.Error("a value can be read that cannot be decrypted")
	}
	y, err := c.Get(t.Context(), "a/y", Read{})
	if err != nil {
		t.Fatal(err)
	}
	mustDelete(t, c, y) // as an unsafe deletion does
	w := mustWatch(t, c, WatchOptions{})

	cipher.fault.Store(nil)
	s.DecryptAgain()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if events, err := w.Next(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("the watch does not end: %v, %v", events, err)
	}
	l, err := c.List(t.Context(), ListOptions{Verify: true})
	if err != nil || len(l.Items) != 2 || l.Items[0].Labels().Get("app") != "one" || configMapValue(t, l.Items[0]) != "1" {
		t.Errorf("afterwards: %+v, %v", l, err)
	}
	if l := mustList(t, c, ListOptions{Field: "node", Value: "n1"}); len(l.Items) != 1 || l.Items[0].Key() != "a/z" {
		t.Error("the index does not have the value")
	}
}

// TestEncryptedWithoutTransformer reads an encrypted value in a store that encrypts nothing.
func TestEncryptedWithoutTransformer(t *testing.T) {
	s, c := startStore(t, Options{})
	if ok, err := s.SetValue(t.Context(), "configmaps/a/x", 0, []byte("k8s:enc:aescbc:v1:key1:...")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	item, err := c.Get(t.Context(), "a/x", Read{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := item.Object(); err == nil || !strings.HasSuffix(err.Error(), "not transformable revision=0: identity transformer tried to read encrypted data") {
		t.Error(err)
	}
}

// TestReconfigureEncrypted changes the configuration of a collection with values of both sorts.
func TestReconfigureEncrypted(t *testing.T) {
	_, c, cipher := startEncrypted(t, Options{})
	mustCreate(t, c, "a/x", "1")
	c.Reconfigure(encryptedConfigMaps(cipher))
	if i, err := c.Get(t.Context(), "a/x", Read{}); err != nil || configMapValue(t, i) != "1" {
		t.Errorf("%v", err)
	}
}

// TestSnapshotEncrypted restores a snapshot with encrypted values.
func TestSnapshotEncrypted(t *testing.T) {
	s, c, _ := startEncrypted(t, Options{})
	mustCreate(t, c, "a/x", "1")
	file := writeFile(t, snapshotOf(t, s))
	_, c, _ = startEncrypted(t, Options{Dir: t.TempDir(), SnapshotFile: file})
	if i, err := c.Get(t.Context(), "a/x", Read{}); err != nil || configMapValue(t, i) != "1" {
		t.Errorf("%v", err)
	}
}

// BenchmarkEncrypted measures an encrypted collection. A read costs as much as one of a plain
// collection, because the cache has decrypted values.
func BenchmarkEncrypted(b *testing.B) {
	_, c, _ := startEncrypted(b, Options{})
	mustCreate(b, c, "a/x", "1")
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Get(b.Context(), "a/x", Read{Match: Any}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			mustCreate(b, c, fmt.Sprint("a/created-", n), "1")
		}
	})
}
