package encryption

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Sizes of the derivation of keys from a seed.
const (
	seedSize = 32
	infoSize = 32
	dekSize  = 32
)

// extendedGCM is AES-GCM with a key of its own for each value, so that one seed encrypts any
// number of values: HKDF derives the key from the seed and random bytes, the info. A value is
// the info, and the value encrypted by gcm with that key.
type extendedGCM struct{ seed []byte }

func newExtendedGCM(seed []byte) (codec, error) {
	if len(seed) < seedSize {
		return nil, fmt.Errorf("invalid seed length %d used for key generation", len(seed))
	}
	return extendedGCM{seed}, nil
}

// derive returns the codec with the key of a value.
func (c extendedGCM) derive(info []byte) (codec, error) {
	key, err := hkdf.Expand(sha256.New, c.seed, string(info), dekSize)
	if err != nil {
		return nil, fmt.Errorf("failed to KDF expand seed with info: %w", err)
	}
	return newGCM(key)
}

func (c extendedGCM) encrypt(ctx context.Context, dst []byte, s *subject, value []byte) ([]byte, error) {
	dst = appendRandom(dst, infoSize, len(value)+gcmOverhead)
	derived, err := c.derive(dst[len(dst)-infoSize:])
	if err != nil {
		return nil, err
	}
	return derived.encrypt(ctx, dst, s, value)
}

// gcmOverhead is the size of the nonce and the tag.
const gcmOverhead = 12 + 16

func (c extendedGCM) decrypt(ctx context.Context, s *subject, data []byte) ([]byte, bool, error) {
	if len(data) < infoSize {
		return nil, false, errShort
	}
	derived, err := c.derive(data[:infoSize])
	if err != nil {
		return nil, false, err
	}
	return derived.decrypt(ctx, s, data[infoSize:])
}

// seedTTL is the time after its last use for which a decrypted seed is kept. The number of
// seeds is about the number of starts of servers since all values were last encrypted again.
const seedTTL = 24 * time.Hour

// seedCache caches decrypted seeds. Concurrent readers of one seed share one call of the plugin. The number of seeds is
// not bounded, because the plugin would be called for every value if seeds in use were evicted.
type seedCache struct {
	now   func() time.Time
	sized func(n int)

	mu    sync.Mutex // guards the fields below
	seeds map[seedID]*cachedSeed
	swept time.Time
}

type cachedSeed struct {
	ready chan struct{} // closed when the fields below are set
	codec codec
	err   error
	used  time.Time // guarded by seedCache.mu
}

// get returns the codec of a seed. If it is not cached, decrypt obtains it. Failures are not
// cached.
func (c *seedCache) get(ctx context.Context, id seedID, decrypt func() (codec, error)) (codec, error) {
	c.mu.Lock()
	s := c.seeds[id]
	if s != nil {
		s.used = c.now()
		c.mu.Unlock()
		select {
		case <-s.ready:
			return s.codec, s.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	s = &cachedSeed{ready: make(chan struct{}), used: c.now()}
	c.insert(id, s)
	c.mu.Unlock()
	s.err = errNotDecrypted
	defer c.finish(id, s) // also for a panic, which must not block other readers of the seed
	s.codec, s.err = decrypt()
	return s.codec, s.err
}

// errNotDecrypted is the error of readers that wait for a decryption that panics.
var errNotDecrypted = errors.New("the seed was not decrypted")

// finish lets the readers of a seed continue, and drops the seed if it could not be obtained.
func (c *seedCache) finish(id seedID, s *cachedSeed) {
	if s.err != nil {
		c.mu.Lock()
		if c.seeds[id] == s {
			delete(c.seeds, id)
			c.sized(len(c.seeds))
		}
		c.mu.Unlock()
	}
	close(s.ready)
}

// put caches the codec of a seed that the server generated.
func (c *seedCache) put(id seedID, code codec) {
	s := &cachedSeed{ready: make(chan struct{}), codec: code, used: c.now()}
	close(s.ready)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.insert(id, s)
}

// insert adds a seed and drops the expired ones; c.mu is held.
func (c *seedCache) insert(id seedID, s *cachedSeed) {
	if c.seeds == nil {
		c.seeds = map[seedID]*cachedSeed{}
	}
	c.seeds[id] = s
	if now := s.used; now.Sub(c.swept) > seedTTL/24 {
		c.swept = now
		for id, other := range c.seeds {
			if now.Sub(other.used) > seedTTL {
				delete(c.seeds, id)
			}
		}
	}
	c.sized(len(c.seeds))
}
