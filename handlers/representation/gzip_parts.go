package representation

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/miniapiserver/miniapiserver/storage"
)

// partCache caches compressed parts of lists. A part is a run of consecutive items. Its key
// depends only on these items and their form, so that a change of one item leaves the parts of
// other items in the cache.
//
// The cache has two generations. When the young one is full it becomes the old one, whose
// parts are dropped at the next change of generation unless they are used before.
type partCache struct {
	seed maphash.Seed

	mu         sync.Mutex
	young, old map[partKey]*gzipPart
	size       int // of the young generation
}

// partKey identifies a part: the form of its items, and a digest of their keys and revisions.
type partKey struct {
	codec  *Codec
	format Format
	as     string
	first  bool // the first part of a list, which does not begin with a comma
	items  [sha256.Size]byte
}

const (
	// partBytes bounds a generation.
	partBytes = 16 << 20
	// partItems is the mean number of items in a part, maxPartItems the maximum.
	partItems    = 64
	maxPartItems = 4 * partItems
)

func newPartCache() *partCache {
	return &partCache{seed: maphash.MakeSeed(), young: map[partKey]*gzipPart{}}
}

// end returns the end of the part that begins with items[start]. A hash of its key decides
// whether an item begins a part, so that items that are added or removed change only their own
// part.
func (c *partCache) end(items []*storage.Item, start int) int {
	end := start + 1
	for end < len(items) && end-start < maxPartItems && maphash.String(c.seed, items[end].Key())%partItems != 0 {
		end++
	}
	return end
}

// partKey returns the key of the part with the given items. scratch is a buffer, which is
// returned for the next call.
func (v *View) partKey(items []*storage.Item, first bool, scratch []byte) (partKey, []byte) {
	scratch = scratch[:0]
	for _, i := range items {
		scratch = binary.BigEndian.AppendUint64(append(scratch, i.Key()...), uint64(i.Revision()))
		scratch = append(scratch, 0)
	}
	return partKey{codec: v.codec, format: v.Format, as: v.as, first: first, items: sha256.Sum256(scratch)}, scratch
}

// get returns a part; nil if it is not in the cache.
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

// put adds a part.
func (c *partCache) put(k partKey, p *gzipPart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k, p)
}

// add puts a part into the young generation; c.mu is held.
func (c *partCache) add(k partKey, p *gzipPart) {
	const overhead = 256 // estimated size of a part without its blocks, with its place in the map
	if c.young[k] == nil {
		c.size += len(p.blocks) + overhead
	}
	c.young[k] = p
	if c.size > partBytes {
		c.old, c.young, c.size = c.young, map[partKey]*gzipPart{}, 0
	}
}
