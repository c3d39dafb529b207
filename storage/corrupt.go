package storage

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// A value in etcd that cannot be decoded, because it is damaged or was stored by another
// writer, is still an item: it is in the cache, has a key and a revision, and can be
// deleted. Only functions that need its object fail. Each value is checked once; values that
// this store wrote are not checked.

// CorruptError means that a stored value cannot be decrypted or decoded, or that Check rejects
// its object.
type CorruptError struct {
	// Path is the key in etcd, and Key the same key without the prefix of all keys.
	Path, Key string
	Revision  int64
	// Encrypted means that the value cannot be decrypted.
	Encrypted bool
	Err       error
}

// Error returns the text of kube-apiserver's storage.
func (e *CorruptError) Error() string { return e.text(e.Key) }

// ListText returns the text with which kube-apiserver reports the value in the error of a
// list.
func (e *CorruptError) ListText() string { return e.text(e.Path) }

func (e *CorruptError) text(key string) string {
	return fmt.Sprintf("StorageError: corrupt object, Code: 7, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", key, e.Detail())
}

// Detail returns the part of the text that describes the value and the decoder's error.
func (e *CorruptError) Detail() string {
	if e.Encrypted { // kube-apiserver's text has no revision
		return fmt.Sprintf("data from the storage is not transformable revision=0: %v", e.Err)
	}
	return fmt.Sprintf("object not decodable revision=%d: %v", e.Revision, e.Err)
}

// Unwrap returns the error of the decoder.
func (e *CorruptError) Unwrap() error { return e.Err }

// maxCorrupt is the maximum number of values in a CorruptListError.
const maxCorrupt = 100

// CorruptListError means that a list or the initial state of a watch contains values that
// cannot be decoded.
type CorruptListError struct {
	// Items are the first of these values, and More is set if there are others.
	Items []*CorruptError
	More  bool
}

// Error implements error.
func (e *CorruptListError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "unable to transform or decode %d objects: {\n", len(e.Items))
	for _, item := range e.Items {
		fmt.Fprintf(&b, "\t%s\n", item.ListText())
	}
	b.WriteString("}")
	return b.String()
}

// NewCorruptListError returns the error of a list with the given corrupt values.
func NewCorruptListError(items []*CorruptError) *CorruptListError {
	if len(items) <= maxCorrupt {
		return &CorruptListError{Items: items}
	}
	return &CorruptListError{Items: items[:maxCorrupt], More: true}
}

// CorruptDeletedError ends a watch: a corrupt value was deleted, and it is unknown whether
// the watch had delivered an earlier state of the object.
type CorruptDeletedError struct{ Corrupt *CorruptError }

// Error implements error.
func (e *CorruptDeletedError) Error() string {
	return "saw a DELETED event, but object data is corrupt - " + e.Corrupt.Detail()
}

// Unwrap returns the CorruptError of the value.
func (e *CorruptDeletedError) Unwrap() error { return e.Corrupt }

// corruptItems collects corrupt items for a CorruptListError.
type corruptItems struct{ found CorruptListError }

// addItem appends a corrupt item, and reports whether there is room for another.
func (c *corruptItems) addItem(i *Item) bool {
	if len(c.found.Items) == maxCorrupt {
		c.found.More = true
		return false
	}
	c.found.Items = append(c.found.Items, i.Corrupt())
	return true
}

func (c *corruptItems) err() error {
	if len(c.found.Items) == 0 {
		return nil
	}
	return &c.found
}

// checkDecodable returns a CorruptListError if there is a corrupt item in the range of o, up
// to and including the key last; empty means the end. It decodes the items that were not
// decoded yet.
func (c *Collection) checkDecodable(st *collectionState, o *ListOptions, last string) error {
	var corrupt, newlyDecoded []*Item
	if st.corrupt != nil {
		ascendRange(st.corrupt, o, last, func(i *Item) bool { corrupt = append(corrupt, i); return true })
	}
	if st.undecoded != nil {
		ascendRange(st.undecoded, o, last, func(i *Item) bool { newlyDecoded = append(newlyDecoded, i); return true })
		decodeTogether(newlyDecoded)
		for _, i := range newlyDecoded {
			if i.Corrupt() != nil {
				corrupt = append(corrupt, i)
			}
		}
		c.recordHealth(newlyDecoded)
	}
	slices.SortFunc(corrupt, func(a, b *Item) int { return strings.Compare(a.key, b.key) })
	var found corruptItems
	for _, i := range corrupt {
		if !found.addItem(i) {
			break
		}
	}
	return found.err()
}

// decodeTogether decodes items on all processors if there are many, as at the first list after a start. A panic is left to
// the caller, who meets it again.
func decodeTogether(items []*Item) {
	const part = 500
	if len(items) < 2*part {
		return
	}
	silent := slog.New(slog.DiscardHandler)
	parts := slices.Collect(slices.Chunk(items, part))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			_ = recovery.Call(silent, "decoding", func() {
				for n := next.Add(1) - 1; n < int64(len(parts)); n = next.Add(1) - 1 {
					for _, i := range parts[n] {
						i.Corrupt()
					}
				}
			})
		})
	}
	wg.Wait()
}

// ascendRange calls f with the items of t in the range of o, up to and including the key last.
func ascendRange(t *itemTree, o *ListOptions, last string, f func(*Item) bool) {
	if o.Key != "" {
		if i, ok := t.Get(o.Key); ok && o.Key > o.After {
			f(i)
		}
		return
	}
	p := keyRange{t: t, prefix: o.Prefix, start: o.Prefix}
	if o.After != "" && o.After >= p.start {
		p.start = o.After + "\x00"
	}
	p.ascend(func(i *Item) bool { return (last == "" || i.key <= last) && f(i) })
}

// recordHealth updates the current state after items were decoded.
func (c *Collection) recordHealth(items []*Item) {
	if len(items) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.working
	if st == nil || st.undecoded == nil {
		return
	}
	if len(items) < st.undecoded.Len()/8 {
		for _, i := range items {
			if is, ok := st.items.Get(i.key); ok && is == i {
				st.fileByHealth(i)
			}
		}
	} else { // rebuilding the tree costs less than many removals
		rest := newItemTree()
		st.undecoded.Scan(func(key string, i *Item) bool {
			switch h := i.health.Load(); {
			case h == nil:
				rest.Load(key, i)
			case h != notCorrupt:
				st.corrupt = putOrDelete(st.corrupt, i, true)
			}
			return true
		})
		if st.undecoded = rest; rest.Len() == 0 {
			st.undecoded = nil
		}
	}
	c.current.Store(st.copy())
}
