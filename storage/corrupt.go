package storage

import (
	"fmt"
	"slices"
	"strings"
)

// A value in etcd that cannot be decoded, because it is damaged or another writer left
// it there, is an item as any other: it is in the cache, has a key and a revision, and
// can be deleted. What fails is what needs its object. Whether a value can be decoded
// is found out once; values that this store wrote itself are known to be in order.

// CorruptError: a stored value cannot be decoded, or holds what cannot be shown.
type CorruptError struct {
	// Path is the key in etcd, and Key the part of it below the prefix of all keys.
	Path, Key string
	Revision  int64
	Err       error
}

// Error implements error, in the words of kube-apiserver's store.
func (e *CorruptError) Error() string { return e.text(e.Key) }

// Listed is Error in the words in which a list reports the value.
func (e *CorruptError) Listed() string { return e.text(e.Path) }

func (e *CorruptError) text(key string) string {
	return fmt.Sprintf("StorageError: corrupt object, Code: 7, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", key, e.Detail())
}

// Detail says what is wrong with the value.
func (e *CorruptError) Detail() string {
	return fmt.Sprintf("object not decodable revision=%d: %v", e.Revision, e.Err)
}

// Unwrap returns the error of the decoder.
func (e *CorruptError) Unwrap() error { return e.Err }

// MaxCorrupt bounds the values that a CorruptListError names.
const MaxCorrupt = 100

// CorruptListError: a list, or the state with which a watch begins, has values that
// cannot be decoded.
type CorruptListError struct {
	// Items are the first of them, and More is set if there are others.
	Items []*CorruptError
	More  bool
}

// Error implements error.
func (e *CorruptListError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "unable to transform or decode %d objects: {\n", len(e.Items))
	for _, item := range e.Items {
		fmt.Fprintf(&b, "\t%s\n", item.Listed())
	}
	b.WriteString("}")
	return b.String()
}

// CorruptDeletedError ends a watch: a value that could not be decoded was deleted, and
// it is unknown whether the watch had shown an earlier state of the object.
type CorruptDeletedError struct{ Corrupt *CorruptError }

// Error implements error.
func (e *CorruptDeletedError) Error() string {
	return "saw a DELETED event, but object data is corrupt - " + e.Corrupt.Detail()
}

// Unwrap returns what is wrong with the value.
func (e *CorruptDeletedError) Unwrap() error { return e.Corrupt }

// corruption gathers the corrupt ones of items for a CorruptListError.
type corruption struct{ found CorruptListError }

// add notes a corrupt item, and reports whether there is room for another.
func (c *corruption) add(i *Item) bool {
	if len(c.found.Items) == MaxCorrupt {
		c.found.More = true
		return false
	}
	c.found.Items = append(c.found.Items, i.Corrupt())
	return true
}

func (c *corruption) err() error {
	if len(c.found.Items) == 0 {
		return nil
	}
	return &c.found
}

// intact returns a CorruptListError if there is a corrupt item in the range of o, up to
// the key last, or to the end if that is empty. Items that nobody has decoded yet are
// decoded, once.
func (c *Collection) intact(st *state, o *ListOptions, last string) error {
	var all, looked []*Item
	if st.corrupt != nil {
		within(st.corrupt, o, last, func(i *Item) bool { all = append(all, i); return true })
	}
	if st.doubtful != nil {
		within(st.doubtful, o, last, func(i *Item) bool {
			looked = append(looked, i)
			if i.Corrupt() != nil {
				all = append(all, i)
			}
			return true
		})
		c.settle(looked)
	}
	slices.SortFunc(all, func(a, b *Item) int { return strings.Compare(a.key, b.key) })
	var found corruption
	for _, i := range all {
		if !found.add(i) {
			break
		}
	}
	return found.err()
}

// within calls f with the items of t that o begins with, up to the key last.
func within(t *tree, o *ListOptions, last string, f func(*Item) bool) {
	if o.Key != "" {
		if i, ok := t.Get(o.Key); ok && o.Key > o.After {
			f(i)
		}
		return
	}
	p := span{t: t, prefix: o.Prefix, start: o.Prefix}
	if o.After != "" && o.After >= p.start {
		p.start = o.After + "\x00"
	}
	p.ascend(func(i *Item) bool { return (last == "" || i.key <= last) && f(i) })
}

// settle notes in the current state what was found out about items.
func (c *Collection) settle(items []*Item) {
	if len(items) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.working
	if st == nil || st.doubtful == nil {
		return
	}
	if len(items) < st.doubtful.Len()/8 {
		for _, i := range items {
			if is, ok := st.items.Get(i.key); ok && is == i {
				st.judge(i)
			}
		}
	} else { // it costs less to begin anew than to take out one after the other
		rest := newTree()
		st.doubtful.Scan(func(key string, i *Item) bool {
			switch h := i.health.Load(); {
			case h == nil:
				rest.Load(key, i)
			case h != sound:
				st.corrupt = put(st.corrupt, i, true)
			}
			return true
		})
		if st.doubtful = rest; rest.Len() == 0 {
			st.doubtful = nil
		}
	}
	c.current.Store(st.copy())
}
