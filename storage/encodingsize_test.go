package storage

import (
	"runtime"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestLargeEncodings checks that large encodings are cached until a garbage collection, and small ones longer.
func TestLargeEncodings(t *testing.T) {
	small, large := NewSlot(), NewSlot()
	i := &Item{}
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

type errForTest string

func (e errForTest) Error() string { return string(e) }
