package storage

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestLargeEncodings checks that large encodings are cached until a garbage collection, and small ones longer.
func TestLargeEncodings(t *testing.T) {
	small, large := NewSlot(), NewSlot()
	i := &Item{config: &itemConfig{}}
	i.CacheEncoding(small, make([]byte, smallEncoding))
	for range 3 {
		data := i.CacheEncoding(large, make([]byte, smallEncoding+1))
		if got := i.CachedEncoding(large); len(got) != smallEncoding+1 || &got[0] != &data[0] {
			t.Errorf("the large encoding is not shared: %d bytes", len(got))
		}
		runtime.GC()
		if i.CachedEncoding(large) != nil {
			t.Error("the large encoding remains in memory")
		}
		if got := i.CachedEncoding(small); len(got) != smallEncoding {
			t.Errorf("the small encoding has %d bytes", len(got))
		}
	}
	n := 0
	for e := i.encodings.Load(); e != nil; e = e.next {
		n++
	}
	if n != 2 {
		t.Errorf("%d elements for two slots", n)
	}
}

// TestEncodingsOfLargeCollection checks that a collection that has become large drops all but tiny encodings, and keeps
// encodings again when it is small.
func TestEncodingsOfLargeCollection(t *testing.T) {
	tiny, usual := NewSlot(), NewSlot()
	c := &Collection{working: newCollectionState(0)}
	c.settings.Store(&itemConfig{})
	i := &Item{config: c.config(), key: "a"}
	c.working.set(i)
	cached := func(at int64) string {
		c.working.bytes = at
		c.noteSize()
		i.CacheEncoding(tiny, make([]byte, tinyEncoding))
		i.CacheEncoding(usual, make([]byte, tinyEncoding+1))
		runtime.GC()
		return fmt.Sprint(len(i.CachedEncoding(tiny)), len(i.CachedEncoding(usual)))
	}
	all, few := fmt.Sprint(tinyEncoding, tinyEncoding+1), fmt.Sprint(tinyEncoding, 0)
	for _, step := range []struct {
		size int64
		want string
	}{{keptBytes, all}, {keptBytes + 1, few}, {keptBytes / 2, few}, {keptBytes/2 - 1, all}} {
		if got := cached(step.size); got != step.want {
			t.Errorf("with %d bytes of values: encodings of %s bytes, want %s", step.size, got, step.want)
		}
	}
	c.working.bytes = keptBytes + 1
	if c.noteSize(); i.CachedEncoding(usual) != nil || i.CachedEncoding(tiny) == nil {
		t.Error("a collection that becomes large does not drop the encodings that it has")
	}
}

// TestCheckValue checks that a value that another writer stored is checked before it is decoded, once, and that the
// store's own values are not.
func TestCheckValue(t *testing.T) {
	checked, decoded := 0, 0
	refuse := errForTest("refused")
	var err error
	config := &itemConfig{onError: func(*Item, error) {}}
	config.CheckValue = func([]byte) error { checked++; return err }
	config.Decode = func([]byte) (api.Object, error) { decoded++; return nil, refuse }
	err = refuse
	i := &Item{config: config, key: "a"}
	first, second := i.Corrupt(), i.Corrupt()
	if first == nil || second == nil || checked != 1 || decoded != 0 {
		t.Errorf("%d checks, decoded %d times", checked, decoded)
	}
	own := &Item{config: config, key: "a"}
	own.health.Store(notCorrupt)
	if _, err := own.Object(); err == nil || checked != 1 || decoded != 1 {
		t.Errorf("own value: %v, %d checks, decoded %d times", err, checked, decoded)
	}
}

// TestStoredField checks that an indexed field comes from the value, without decoding the object, unless that is not possible.
func TestStoredField(t *testing.T) {
	decoded := 0
	config := &itemConfig{onError: func(*Item, error) {}}
	config.Decode = func([]byte) (api.Object, error) { decoded++; return &corev1.Pod{}, nil }
	config.Fields = func(api.Object) map[string]string {
		return map[string]string{"a": "of the object", "b": "of the object"}
	}
	config.StoredField = func(value []byte, field string) ([]byte, bool) { return value, field == "a" }
	i := &Item{config: config, value: []byte("of the value")}
	if got := i.Field("a"); got != "of the value" || decoded != 0 {
		t.Errorf("an indexed field: %q, decoded %d times", got, decoded)
	}
	if got := i.Field("b"); got != "of the object" || decoded != 1 {
		t.Errorf("another field: %q, decoded %d times", got, decoded)
	}
}

type errForTest string

func (e errForTest) Error() string { return string(e) }
