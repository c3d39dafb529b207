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

// Cached remembers for a while whose tokens are that others had to be asked
// about, and asks about one token once at a time. Tokens that are nobody's are
// not remembered, so that who gets one can use it at once.
func Cached(tokens Token, ttl time.Duration, metrics *TokenMetrics) Token {
	if ttl <= 0 {
		return tokens
	}
	c := &cache{tokens: tokens, ttl: ttl, metrics: metrics, now: time.Now,
		known: map[cacheKey]cached{}, asking: map[cacheKey]chan struct{}{}}
	_, _ = rand.Read(c.secret[:]) // it never fails
	return c
}

type cache struct {
	tokens  Token
	ttl     time.Duration
	metrics *TokenMetrics
	now     func() time.Time
	// secret makes keys that nobody can foresee.
	secret [32]byte

	mu     sync.Mutex
	known  map[cacheKey]cached
	asking map[cacheKey]chan struct{} // closed when the answer is there
}

type cacheKey [sha256.Size]byte

type cached struct {
	id    Identity
	until time.Time
}

// UsualTTL is how long it is remembered whose a token is.
const UsualTTL = 10 * time.Second

// maxCached bounds how many tokens are remembered.
const maxCached = 32 << 10

// AuthenticateToken implements Token.
func (c *cache) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	key, start := c.key(ctx, token), c.now()
	for {
		c.mu.Lock()
		if k, ok := c.known[key]; ok && c.now().Before(k.until) {
			c.mu.Unlock()
			c.metrics.looked(true, c.now().Sub(start))
			return k.id, true, nil
		}
		wait, busy := c.asking[key]
		if !busy {
			break // with c.mu held
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
	c.asking[key] = done
	c.mu.Unlock()
	return c.ask(ctx, key, token, done, start)
}

// ask asks about a token on behalf of all who wait for the answer.
func (c *cache) ask(ctx context.Context, key cacheKey, token string, done chan struct{}, start time.Time) (id Identity, ok bool, err error) {
	c.metrics.inFlight(1)
	err = errors.New("authentication failed unexpectedly") // if it panics
	defer func() {
		c.metrics.inFlight(-1)
		c.metrics.fetched(err == nil)
		c.metrics.looked(false, c.now().Sub(start))
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asking, key)
		if ok && err == nil {
			c.remember(key, id)
		}
		close(done)
	}()
	id, ok, err = c.tokens.AuthenticateToken(ctx, token)
	return id, ok, err
}

// remember keeps an answer; c.mu is held.
func (c *cache) remember(key cacheKey, id Identity) {
	now := c.now()
	if len(c.known) >= maxCached {
		for k, v := range c.known {
			if !now.Before(v.until) {
				delete(c.known, k)
			}
		}
		if len(c.known) >= maxCached {
			clear(c.known)
		}
	}
	c.known[key] = cached{id, now.Add(c.ttl)}
}

// key is what an answer is found by: the token and the audiences.
func (c *cache) key(ctx context.Context, token string) (key cacheKey) {
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
