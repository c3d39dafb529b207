package storage

import (
	"sort"
	"strings"
)

// digest is a state's items in the order of their keys, with the signatures of
// their labels beside each other: to look through them costs a fraction of
// looking at the items, which lie all over the memory. A state makes it when a
// selection by labels first asks.
type digest struct {
	items      []*Item
	signatures []uint64
}

// digest returns the state's digest. The state is published, so that it is
// right for ever; two readers may both make it.
func (s *state) digest() *digest {
	if d := s.digested.Load(); d != nil {
		return d
	}
	d := &digest{items: make([]*Item, 0, s.items.Len()), signatures: make([]uint64, 0, s.items.Len())}
	s.items.Scan(func(_ string, i *Item) bool {
		i.Labels() // makes the signature
		d.items, d.signatures = append(d.items, i), append(d.signatures, i.signature.Load())
		return true
	})
	s.digested.Store(d)
	return d
}

// ascend calls f with those items of p, which is a span of the items' own tree,
// that may have the labels of a signature, until it returns false.
func (d *digest) ascend(p span, signature uint64, f func(*Item) bool) {
	from := sort.Search(len(d.items), func(n int) bool { return d.items[n].key >= p.start })
	for n := from; n < len(d.items); n++ {
		if s := d.signatures[n]; s&signature != signature && s&known != 0 {
			continue
		}
		if i := d.items[n]; !strings.HasPrefix(i.key, p.prefix) || !f(i) {
			return
		}
	}
}
