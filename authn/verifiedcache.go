package authn

import (
	"crypto/sha256"
	"sync"

	"k8s.io/utils/lru"
)

// maxVerified is the maximum number of values in a verifiedCache.
const maxVerified = 8192

// verifiedCache holds values that a generation of keys or CAs verified, by the SHA-256 sum of the token or the
// certificates. The zero value is empty.
type verifiedCache[V any] struct {
	made   sync.Once
	values *lru.Cache
}

// verifiedKey has the generation, so that nothing is found that other keys verified.
type verifiedKey struct {
	sum        [sha256.Size]byte
	generation int
}

func (c *verifiedCache[V]) cache() *lru.Cache {
	c.made.Do(func() { c.values = lru.New(maxVerified) })
	return c.values
}

func (c *verifiedCache[V]) get(sum [sha256.Size]byte, generation int) (v V, ok bool) {
	found, ok := c.cache().Get(verifiedKey{sum, generation})
	if ok {
		v = found.(V)
	}
	return v, ok
}

func (c *verifiedCache[V]) put(sum [sha256.Size]byte, v V, generation int) {
	c.cache().Add(verifiedKey{sum, generation}, v)
}
