package representation

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/miniapiserver/miniapiserver/storage"
)

// partCache keeps compressed parts of lists. A part is some items in a row, and
// is found by what they are: a change of one item leaves the parts with the
// others as they were, and nothing is compressed twice that did not change.
//
// It is two generations: when the young one is full it becomes the old one,
// whose parts are dropped unless they are asked for until the next is full.
type partCache struct {
	seed maphash.Seed

	mu         sync.Mutex
	young, old map[partKey]*gzipPart
	size       int // of the young ones
}

// partKey says what a part is: which items, by a digest of their keys and
// revisions, and how they are shown.
type partKey struct {
	codec  *Codec
	format Format
	as     string
	first  bool // in the list, where no comma stands before it
	items  [sha256.Size]byte
}

const (
	// partBytes bounds a generation.
	partBytes = 16 << 20
	// partItems is the mean number of items in a part, mostPartItems the most.
	partItems     = 64
	mostPartItems = 4 * partItems
)

func newPartCache() *partCache {
	return &partCache{seed: maphash.MakeSeed(), young: map[partKey]*gzipPart{}}
}

// end tells where the part ends that begins with items[start]. Which items begin
// a part is told from their keys, so that parts stay what they are when items
// come or go before them.
func (c *partCache) end(items []*storage.Item, start int) int {
	end := start + 1
	for end < len(items) && end-start < mostPartItems && maphash.String(c.seed, items[end].Key())%partItems != 0 {
		end++
	}
	return end
}

// key is what tells the part with items from all others that are shown as v.
// Scratch is returned for the next call.
func (v *View) partKey(items []*storage.Item, first bool, scratch []byte) (partKey, []byte) {
	scratch = scratch[:0]
	for _, i := range items {
		scratch = binary.BigEndian.AppendUint64(append(scratch, i.Key()...), uint64(i.Revision()))
		scratch = append(scratch, 0)
	}
	return partKey{codec: v.codec, format: v.Format, as: v.as, first: first, items: sha256.Sum256(scratch)}, scratch
}

func (c *partCache) get(k partKey) *gzipPart {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.young[k]; p != nil {
		return p
	}
	p := c.old[k]
	if p != nil {
		delete(c.old, k)
		c.add(k, p)
	}
	return p
}

func (c *partCache) put(k partKey, p *gzipPart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k, p)
}

// add puts a part into the young generation; c.mu is held.
func (c *partCache) add(k partKey, p *gzipPart) {
	const around = 256 // what the map and the part itself take
	if c.young[k] == nil {
		c.size += len(p.blocks) + around
	}
	c.young[k] = p
	if c.size > partBytes {
		c.old, c.young, c.size = c.young, map[partKey]*gzipPart{}, 0
	}
}
