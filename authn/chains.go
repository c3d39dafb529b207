package authn

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"time"
)

// chainVerifier verifies client certificates against a set of CAs and maps a valid one to a value.
// Verifying a signature takes longer than serving a read, so verified chains are cached while all of
// their certificates are valid and the CAs do not change.
type chainVerifier[T any] struct {
	cas *CAFile
	// value returns the value of a valid certificate.
	value func(*x509.Certificate) (T, error)
	now   func() time.Time

	verified verifiedCache[verified[T]]
}

type verified[T any] struct {
	value T
	validity
}

// validity is a period by the wall clock, which may also be set back before its begin.
type validity struct{ from, until time.Time }

func (v validity) contains(now time.Time) bool { return !now.Before(v.from) && !now.After(v.until) }

func newChains[T any](cas *CAFile, value func(*x509.Certificate) (T, error)) *chainVerifier[T] {
	return &chainVerifier[T]{cas: cas, value: value, now: time.Now}
}

// check verifies a chain and returns the value of its first certificate.
func (c *chainVerifier[T]) check(chain []*x509.Certificate) (T, error) {
	pool, generation := c.cas.Pool()
	sum, now := sumOf(chain), c.now()
	if v, ok := c.verified.get(sum, generation); ok && v.contains(now) {
		return v.value, nil
	}
	var none T
	valid, err := verifyClientChain(chain, pool, now)
	if err != nil {
		return none, err
	}
	value, err := c.value(chain[0])
	if err != nil {
		return none, err
	}
	c.verified.put(sum, verified[T]{value, valid}, generation)
	return value, nil
}

// verifyClientChain verifies that a chain leads to one of the roots and is valid for client
// authentication. It returns the period in which all of its certificates are valid.
func verifyClientChain(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) (validity, error) {
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
		return validity{}, fmt.Errorf("verifying client certificate SN=%d: %w", chain[0].SerialNumber, err)
	}
	v := validity{chain[0].NotBefore, chain[0].NotAfter}
	for _, c := range found[0] {
		if c.NotBefore.After(v.from) {
			v.from = c.NotBefore
		}
		if c.NotAfter.Before(v.until) {
			v.until = c.NotAfter
		}
	}
	return v, nil
}

func sumOf(chain []*x509.Certificate) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, c := range chain {
		h.Write(c.Raw)
	}
	h.Sum(sum[:0])
	return sum
}
