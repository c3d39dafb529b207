package storage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/wal"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// putKeys writes n keys below /registry/scanned/ and returns them in their order.
func putKeys(t testing.TB, s *Store, n int) (keys []string) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		keys = append(keys, fmt.Sprintf("/registry/scanned/%05d", i))
	}
	for part := range slices.Chunk(keys, n/20+1) {
		wg.Go(func() {
			for _, key := range part {
				if _, err := s.Client().Put(t.Context(), key, strings.Repeat("v", 200)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return keys
}

// TestScan reads several pages of keys of an embedded and of an external etcd, now and at an old revision.
func TestScan(t *testing.T) {
	for name, o := range map[string]Options{"embedded": {}, "external": {Servers: []string{startExternalEtcd(t)}}} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, o)
			want := putKeys(t, s, 2*loadPage)
			scan := func(rev int64, keysOnly bool) (keys []string, at int64, err error) {
				at, err = s.scan(t.Context(), "/registry/scanned/", rev, keysOnly, func(kv *mvccpb.KeyValue) {
					if keys = append(keys, string(kv.Key)); keysOnly != (len(kv.Value) == 0) || kv.ModRevision == 0 {
						t.Errorf("%s has %d bytes and revision %d", kv.Key, len(kv.Value), kv.ModRevision)
					}
				})
				return keys, at, err
			}
			keys, rev, err := scan(0, false)
			if err != nil || !slices.Equal(keys, want) {
				t.Fatalf("%d keys, want %d: %v", len(keys), len(want), err)
			}
			last := putKeys(t, s, 1)[0]
			if _, err := s.Client().Delete(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			if keys, at, err := scan(rev, true); err != nil || at != rev || !slices.Equal(keys, want) {
				t.Errorf("%d keys at the old revision, want %d: %v", len(keys), len(want), err)
			}
			keys, at, err := scan(0, true)
			if err != nil || at != rev+2 || !slices.Equal(keys, want[1:]) {
				t.Errorf("%d keys at %d, want %d at %d: %v", len(keys), at, len(want)-1, rev+2, err)
			}
			if _, err := s.Client().Compact(t.Context(), at, clientv3.WithCompactPhysical()); err != nil {
				t.Fatal(err)
			}
			var compacted *CompactedError
			if _, _, err := scan(rev, true); !errors.As(err, &compacted) {
				t.Errorf("after the compaction: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := scan(0, true); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

// TestStoredFieldIndex checks that a start decodes no value whose indexed fields can be read from it, and that the index
// then follows changes of items that were decoded, and of items that were not.
func TestStoredFieldIndex(t *testing.T) {
	var decoded atomic.Int64
	cfg := configMaps()
	decode := cfg.Decode
	cfg.Decode = func(b []byte) (api.Object, error) {
		decoded.Add(1)
		return decode(b)
	}
	cfg.StoredField = func(value []byte, field string) ([]byte, bool) {
		_, rest, ok := bytes.Cut(value, []byte(`"`+field+`":"`))
		text, _, closed := bytes.Cut(rest, []byte(`"`))
		return text, ok && closed // a ConfigMap without the field must be decoded
	}
	dir := t.TempDir()
	open := func() (*Store, *Collection) {
		s := openStore(t, Options{Dir: dir})
		c, err := s.Collection(cfg)
		if err == nil {
			err = s.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return s, c
	}
	onNode := func(c *Collection, node string, want ...string) {
		t.Helper()
		if got := listedKeys(mustList(t, c, ListOptions{Field: "node", Value: node})); !slices.Equal(got, want) {
			t.Errorf("on %q: got %q, want %q", node, got, want)
		}
	}
	s, c := open()
	for key, node := range map[string]string{"ns/a": "one", "ns/b": "one", "ns/c": "two", "ns/d": "two"} {
		cm := configMap(key, "x")
		cm.Data["node"] = node
		if _, err := c.Create(t.Context(), key, cm); err != nil {
			t.Fatal(err)
		}
	}
	mustCreate(t, c, "ns/e", "nowhere")
	onNode(c, "one", "ns/a", "ns/b")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	decoded.Store(0)
	_, c = open()
	if n := decoded.Load(); n != 1 {
		t.Errorf("the start decoded %d values, want that of ns/e only", n)
	}
	onNode(c, "one", "ns/a", "ns/b")
	onNode(c, "", "ns/e")
	for _, key := range []string{"ns/a", "ns/c"} { // ns/a is decoded, ns/c is not
		item := mustList(t, c, ListOptions{Key: key}).Items[0]
		cm := configMap(key, "y")
		cm.Data["node"] = "three"
		if _, err := c.Update(t.Context(), item, cm); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"ns/b", "ns/d"} {
		mustDelete(t, c, mustList(t, c, ListOptions{Key: key}).Items[0])
	}
	onNode(c, "one")
	onNode(c, "two")
	onNode(c, "three", "ns/a", "ns/c")
	if n := c.current.Load().indexes[0].Len(); n != 3 {
		t.Errorf("the index has %d items, want 3", n)
	}
}

// TestVerifyMany verifies values that were loaded and not decoded yet, enough for several goroutines. Among them is a value that
// cannot be decoded, and then one with which the decoder panics.
func TestVerifyMany(t *testing.T) {
	s := openStore(t, Options{})
	keys := putKeys(t, s, 2500)
	var panics atomic.Bool
	cfg := configMaps()
	cfg.Prefix = "scanned"
	cfg.Decode = func(value []byte) (api.Object, error) {
		switch {
		case string(value) == "bad" && panics.Load():
			panic("on purpose")
		case string(value) == "bad":
			return nil, errors.New("it is bad")
		}
		return &corev1.ConfigMap{}, nil
	}
	cfg.Index = nil
	if _, err := s.Client().Put(t.Context(), keys[2000], "bad"); err != nil {
		t.Fatal(err)
	}
	c, err := s.Collection(cfg)
	if err == nil {
		err = s.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	list := func() (err error) {
		defer recovery.Into(slog.New(slog.DiscardHandler), "list", &err)
		_, err = c.List(t.Context(), ListOptions{Verify: true})
		return err
	}
	panics.Store(true)
	for range 2 {
		if err := list(); !errors.Is(err, recovery.ErrPanic) {
			t.Errorf("with a panic: %v", err)
		}
	}
	panics.Store(false)
	for range 2 {
		var corrupt *CorruptListError
		if err := list(); !errors.As(err, &corrupt) || len(corrupt.Items) != 1 || corrupt.Items[0].Path != keys[2000] {
			t.Errorf("with a bad value: %v", err)
		}
	}
	if st := c.current.Load(); st.undecoded != nil || st.corrupt.Len() != 1 {
		t.Error("the verified values are verified again")
	}
}

// TestLogIsShort checks that few segments of the log are left, which the next start reads.
func TestLogIsShort(t *testing.T) {
	defer func(size int64) { wal.SegmentSizeBytes = size }(wal.SegmentSizeBytes)
	wal.SegmentSizeBytes = 320 << 10 // a little more than the writes between two snapshots, which etcd needs
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	putKeys(t, s, 7000)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	segments := func() int {
		all, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := segments(); n < 6 {
		t.Errorf("only %d segments were written", n)
	}
	s = openStore(t, Options{Dir: dir}) // etcd removes segments when it starts, and every 30 seconds
	eventually.True(t, "the log is short", func() bool { return segments() <= 2 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
