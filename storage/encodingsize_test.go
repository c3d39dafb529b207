package storage

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestLargeEncodings checks that an encoding that is much larger than the value is not cached.
func TestLargeEncodings(t *testing.T) {
	for size, cached := range map[int]bool{100: true, smallEncoding: true, smallEncoding + 1: false} {
		slot := NewSlot()
		i := &Item{value: make([]byte, 100)}
		if got := i.CacheEncoding(slot, make([]byte, size)); len(got) != size {
			t.Errorf("%d: %d bytes", size, len(got))
		}
		if is := i.CachedEncoding(slot) != nil; is != cached {
			t.Errorf("%d: cached %t", size, is)
		}
	}
	i := &Item{value: make([]byte, smallEncoding)}
	if i.CacheEncoding(NewSlot(), make([]byte, maxGrowth*smallEncoding)); i.encodings.Load() == nil {
		t.Error("the encoding of a large value is not cached")
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
