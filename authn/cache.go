package authn

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// NewTokenCache caches the users of tokens that an external server authenticates, and sends one
// request at a time per token. Unknown tokens are not cached, so that a new token can be used at
// once.
func NewTokenCache(tokens Token, ttl time.Duration, metrics *TokenMetrics) Token {
	if ttl <= 0 {
		return tokens
	}
	c := &tokenCache{tokens: tokens, ttl: ttl, metrics: metrics, now: time.Now,
		known: map[cacheKey]cacheEntry{}, fetching: map[cacheKey]chan struct{}{}}
	_, _ = rand.Read(c.secret[:]) // never fails
	return c
}

// tokenCache implements Token for NewTokenCache.
type tokenCache struct {
	tokens  Token
	ttl     time.Duration
	metrics *TokenMetrics
	now     func() time.Time
	// secret makes the keys unpredictable for clients.
	secret [32]byte

	mu       sync.Mutex
	known    map[cacheKey]cacheEntry
	fetching map[cacheKey]chan struct{} // closed when the fetch completes
}

type cacheKey [sha256.Size]byte

type cacheEntry struct {
	id    Identity
	until time.Time
}

// DefaultTokenTTL is the time for which the user of a token is cached.
const DefaultTokenTTL = 10 * time.Second

// maxCachedTokens is the maximum number of cached tokens.
const maxCachedTokens = 32 << 10

// AuthenticateToken implements Token.
func (c *tokenCache) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	key, start := c.key(ctx, token), c.now()
	for {
		c.mu.Lock()
		if k, ok := c.known[key]; ok && c.now().Before(k.until) {
			c.mu.Unlock()
			c.metrics.cacheRequest(true, c.now().Sub(start))
			return k.id, true, nil
		}
		wait, busy := c.fetching[key]
		if !busy {
			break // still holding c.mu
		}
		c.mu.Unlock()
		c.metrics.blocked(1)
		select {
		case <-wait:
			c.metrics.blocked(-1)
		case <-ctx.Done():
			c.metrics.blocked(-1)
			return Identity{}, false, ctx.Err()
		}
	}
	done := make(chan struct{})
	c.fetching[key] = done
	c.mu.Unlock()
	return c.fetch(ctx, key, token, done, start)
}

// fetch authenticates a token for all requests that wait for it.
func (c *tokenCache) fetch(ctx context.Context, key cacheKey, token string, done chan struct{}, start time.Time) (id Identity, ok bool, err error) {
	c.metrics.inFlight(1)
	err = errors.New("authentication failed unexpectedly") // returned if AuthenticateToken panics
	defer func() {
		c.metrics.inFlight(-1)
		c.metrics.cacheFetch(err == nil)
		c.metrics.cacheRequest(false, c.now().Sub(start))
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.fetching, key)
		if ok && err == nil {
			c.add(key, id)
		}
		close(done)
	}()
	id, ok, err = c.tokens.AuthenticateToken(ctx, token)
	return id, ok, err
}

// add adds a result to the cache; the caller holds c.mu.
func (c *tokenCache) add(key cacheKey, id Identity) {
	now := c.now()
	if len(c.known) >= maxCachedTokens {
		for k, v := range c.known {
			if !now.Before(v.until) {
				delete(c.known, k)
			}
		}
		if len(c.known) >= maxCachedTokens {
			clear(c.known)
		}
	}
	c.known[key] = cacheEntry{id, now.Add(c.ttl)}
}

// key returns the cache key of a token and the requested audiences.
func (c *tokenCache) key(ctx context.Context, token string) (key cacheKey) {
	mac := hmac.New(sha256.New, c.secret[:])
	write := func(s string) {
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(s)))
		mac.Write(n[:])
		mac.Write([]byte(s))
	}
	write(token)
	audiences, _ := audiencesIn(ctx)
	for _, audience := range audiences {
		write(audience)
	}
	mac.Sum(key[:0])
	return key
}
