package authn

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"sync"
	"time"
)

// maxVerified bounds how many certificates are remembered as good.
const maxVerified = 1024

// chains verifies client certificates by a set of CAs, and knows what a good
// one stands for. Checking a signature takes longer than serving a read, so
// chains that were found good are remembered, until one of their certificates
// expires or the CAs change.
type chains[T any] struct {
	cas *CAFile
	of  func(*x509.Certificate) (T, error)
	now func() time.Time

	mu         sync.Mutex
	verified   map[[sha256.Size]byte]verified[T]
	generation int
}

type verified[T any] struct {
	value T
	until time.Time
}

func newChains[T any](cas *CAFile, of func(*x509.Certificate) (T, error)) *chains[T] {
	return &chains[T]{cas: cas, of: of, now: time.Now, verified: map[[sha256.Size]byte]verified[T]{}}
}

// check returns what the first certificate of a chain stands for, or why it is
// not good.
func (c *chains[T]) check(chain []*x509.Certificate) (T, error) {
	pool, generation := c.cas.Pool()
	sum, now := sumOf(chain), c.now()
	if value, ok := c.known(sum, now, generation); ok {
		return value, nil
	}
	var none T
	until, err := verify(chain, pool, now)
	if err != nil {
		return none, err
	}
	value, err := c.of(chain[0])
	if err != nil {
		return none, err
	}
	c.remember(sum, verified[T]{value, until}, generation)
	return value, nil
}

// known returns what a chain stands for that was found good before.
func (c *chains[T]) known(sum [sha256.Size]byte, now time.Time, generation int) (value T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.verified[sum]
	if !ok || c.generation != generation || now.After(v.until) {
		return value, false
	}
	return v.value, true
}

func (c *chains[T]) remember(sum [sha256.Size]byte, v verified[T], generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation < c.generation {
		return
	}
	if c.generation != generation || len(c.verified) >= maxVerified {
		clear(c.verified)
		c.generation = generation
	}
	c.verified[sum] = v
}

// verify checks that a chain leads to one of the CAs and is meant for clients.
// It returns when it ends to be good.
func verify(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) (time.Time, error) {
	intermediates := x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	found, err := chain[0].Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("verifying client certificate SN=%d: %w", chain[0].SerialNumber, err)
	}
	until := chain[0].NotAfter
	for _, c := range found[0] {
		if c.NotAfter.Before(until) {
			until = c.NotAfter
		}
	}
	return until, nil
}

func sumOf(chain []*x509.Certificate) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, c := range chain {
		h.Write(c.Raw)
	}
	h.Sum(sum[:0])
	return sum
}
