package authn

import (
	"crypto/sha256"
	"sync"
)

// maxVerified is the maximum number of values in a verifiedCache.
const maxVerified = 8192

// verifiedCache holds values that the current generation of keys or CAs verified, by the SHA-256 sum of the token or
// the certificates. Only holders of a valid one can add to it, so it is cleared when it is full. It is no LRU cache,
// because every request looks it up: a lookup here takes a read lock and allocates nothing, whereas that of an LRU
// cache moves the entry under a lock.
type verifiedCache[V any] struct {
	mu         sync.RWMutex
	generation int
	entries    map[[sha256.Size]byte]V
}

func (c *verifiedCache[V]) get(sum [sha256.Size]byte, generation int) (v V, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.generation != generation {
		return v, false
	}
	v, ok = c.entries[sum]
	return v, ok
}

// put adds a value. Values of earlier generations are dropped; one that was verified by an earlier generation than
// the cached ones is not added.
func (c *verifiedCache[V]) put(sum [sha256.Size]byte, v V, generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation < c.generation {
		return
	}
	if c.entries == nil || generation > c.generation || len(c.entries) >= maxVerified {
		c.entries, c.generation = map[[sha256.Size]byte]V{}, generation
	}
	c.entries[sum] = v
}
