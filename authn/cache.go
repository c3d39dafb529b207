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

	"k8s.io/apimachinery/pkg/util/cache"
)

// TokenTTLs are the times for which the results of an authentication are cached; 0 means that they are
// not cached. Errors never are: they say that a token could not be reviewed, not that it is invalid.
type TokenTTLs struct {
	// Success is for the users of valid tokens.
	Success time.Duration
	// Failure is for tokens that the authenticator does not accept.
	Failure time.Duration
	// Moves returns the number of moves of the clock by which tokens expire. Results from before a move are not used. Nil means that
	// the clock does not move.
	Moves func() uint64
}

// NewTokenCache caches the results for tokens that an external server authenticates, and sends one
// request at a time per token.
func NewTokenCache(tokens Token, ttl TokenTTLs, metrics *TokenMetrics) Token {
	if ttl.Success <= 0 && ttl.Failure <= 0 {
		return tokens
	}
	return newTokenCache(tokens, ttl, metrics, time.Now)
}

func newTokenCache(tokens Token, ttl TokenTTLs, metrics *TokenMetrics, now clock) *tokenCache {
	c := &tokenCache{tokens: tokens, ttl: ttl, metrics: metrics, now: now,
		known: cache.NewLRUExpireCacheWithClock(maxCachedTokens, now), fetching: map[cacheKey]*tokenFetch{}}
	_, _ = rand.Read(c.secret[:]) // never fails
	return c
}

// clock is the cache.Clock of a function that returns the time.
type clock func() time.Time

// Now implements cache.Clock.
func (c clock) Now() time.Time { return c() }

// tokenCache implements Token for NewTokenCache.
type tokenCache struct {
	tokens  Token
	ttl     TokenTTLs
	metrics *TokenMetrics
	now     clock
	// secret makes the keys unpredictable for clients.
	secret [32]byte
	// known has a tokenResult for each cacheKey.
	known *cache.LRUExpireCache

	mu       sync.Mutex
	fetching map[cacheKey]*tokenFetch
}

type cacheKey [sha256.Size]byte

// tokenResult is what an authenticator returns for a token.
type tokenResult struct {
	id  Identity
	ok  bool
	err error
}

// tokenFetch is an authentication for which several requests may wait. Its result may be read once done
// is closed.
type tokenFetch struct {
	done   chan struct{}
	result tokenResult
}

// DefaultTokenTTL is the time for which the user of a valid token is cached.
const DefaultTokenTTL = 10 * time.Second

const (
	// maxCachedTokens is the maximum number of cached tokens.
	maxCachedTokens = 32 << 10
	// maxTokenFetch bounds an authentication, which does not end with the request that began it.
	maxTokenFetch = 30 * time.Second
)

// AuthenticateToken implements Token.
func (c *tokenCache) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	r := c.authenticate(ctx, c.key(ctx, token), token)
	if !r.ok || r.err != nil {
		return Identity{}, false, r.err
	}
	return r.id, true, nil
}

func (c *tokenCache) authenticate(ctx context.Context, key cacheKey, token string) tokenResult {
	start := c.now()
	c.mu.Lock()
	if known, ok := c.known.Get(key); ok {
		c.mu.Unlock()
		c.metrics.cacheRequest(true, c.now().Sub(start))
		return known.(tokenResult)
	}
	f, busy := c.fetching[key]
	if !busy {
		f = &tokenFetch{done: make(chan struct{})}
		c.fetching[key] = f
	}
	c.mu.Unlock()
	c.metrics.blocked(1)
	defer func() {
		c.metrics.blocked(-1)
		c.metrics.cacheRequest(false, c.now().Sub(start))
	}()
	if !busy {
		c.fetch(ctx, key, token, f)
		return f.result
	}
	select {
	case <-f.done:
		return f.result
	case <-ctx.Done():
		return tokenResult{err: ctx.Err()}
	}
}

// fetch authenticates a token for all requests that wait for it. It goes on if the request that began it
// ends, because the others get its result.
func (c *tokenCache) fetch(ctx context.Context, key cacheKey, token string, f *tokenFetch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxTokenFetch)
	defer cancel()
	c.metrics.inFlight(1)
	f.result.err = errors.New("authentication failed unexpectedly") // returned if AuthenticateToken panics
	defer func() {
		c.metrics.inFlight(-1)
		c.metrics.cacheFetch(f.result.err == nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.fetching, key)
		c.add(key, f.result)
		close(f.done)
	}()
	id, ok, err := c.tokens.AuthenticateToken(ctx, token)
	f.result = tokenResult{id, ok, err}
}

// add adds a result to the cache, unless it is an error.
func (c *tokenCache) add(key cacheKey, r tokenResult) {
	ttl := c.ttl.Failure
	if r.ok {
		ttl = c.ttl.Success
	}
	if r.err == nil && ttl > 0 {
		c.known.Add(key, r, ttl)
	}
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
	if c.ttl.Moves != nil {
		mac.Write(binary.BigEndian.AppendUint64(nil, c.ttl.Moves()))
	}
	audiences, _ := audiencesIn(ctx)
	for _, audience := range audiences {
		write(audience)
	}
	mac.Sum(key[:0])
	return key
}
