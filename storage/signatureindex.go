package storage

import (
	"sort"
	"strings"
)

// signatureIndex holds a state's items in the order of their keys, with the signatures of their
// labels in one array. Scanning that array costs a fraction of reading the items, which are
// scattered over the memory. A state builds it on the first selection by labels.
type signatureIndex struct {
	items      []*Item
	signatures []uint64
}

// signatureIndex returns the state's digest. A published state does not change, so the digest
// stays valid; two readers may build it concurrently.
func (s *collectionState) signatureIndex() *signatureIndex {
	if d := s.cachedIndex.Load(); d != nil {
		return d
	}
	d := &signatureIndex{items: make([]*Item, 0, s.items.Len()), signatures: make([]uint64, 0, s.items.Len())}
	s.items.Scan(func(_ string, i *Item) bool {
		i.Labels() // computes the signature
		d.items, d.signatures = append(d.items, i), append(d.signatures, i.signature.Load())
		return true
	})
	s.cachedIndex.Store(d)
	return d
}

// ascend calls f with the items in p that may have the labels of signature, until f returns
// false. p must be a span of the tree of items.
func (d *signatureIndex) ascend(p keyRange, signature uint64, f func(*Item) bool) {
	from := sort.Search(len(d.items), func(n int) bool { return d.items[n].key >= p.start })
	for n := from; n < len(d.items); n++ {
		if s := d.signatures[n]; s&signature != signature && s&signatureComputed != 0 {
			continue
		}
		if i := d.items[n]; !strings.HasPrefix(i.key, p.prefix) || !f(i) {
			return
		}
	}
}
