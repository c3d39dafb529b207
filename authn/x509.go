package authn

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// extraCredentialID is the attribute that says by which certificate a user came
// in, for audit logs.
const extraCredentialID = "authentication.kubernetes.io/credential-id"

// uidOID is the attribute type of a certificate's subject that holds the user's
// uid.
const uidOID = "1.3.6.1.4.1.57683.2"

// maxVerified bounds how many certificates are remembered as good.
const maxVerified = 1024

// X509 is the method of TLS client certificates: the common name is the user,
// organisations are the groups.
type X509 struct {
	cas *CAFile
	now func() time.Time

	// Checking a signature takes longer than serving a read, so chains that
	// were found good are remembered, until one of their certificates expires
	// or the CAs change.
	mu         sync.Mutex
	verified   map[[sha256.Size]byte]verified
	generation int
}

type verified struct {
	user  *request.User
	until time.Time
}

// NewX509 returns the method that accepts certificates of the given CAs.
func NewX509(cas *CAFile) *X509 {
	return &X509{cas: cas, now: time.Now, verified: map[[sha256.Size]byte]verified{}}
}

// Authenticate verifies the client certificate of r's connection. One without a
// common name is no credential.
func (x *X509) Authenticate(r *http.Request) (*request.User, bool, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	chain := r.TLS.PeerCertificates
	pool, generation := x.cas.Pool()
	sum, now := sumOf(chain), x.now()
	if user, ok := x.known(sum, now, generation); ok {
		return user, user != nil, nil
	}
	until, err := verify(chain, pool, now)
	if err != nil {
		return nil, false, err
	}
	user, err := userOfCertificate(chain[0])
	if err != nil {
		return nil, false, err
	}
	x.remember(sum, verified{user, until}, generation)
	return copyOf(user), user != nil, nil
}

// known returns the user of a chain that was found good before, who is nil for
// one without a name.
func (x *X509) known(sum [sha256.Size]byte, now time.Time, generation int) (*request.User, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	v, ok := x.verified[sum]
	if !ok || x.generation != generation || now.After(v.until) {
		return nil, false
	}
	return copyOf(v.user), true
}

func (x *X509) remember(sum [sha256.Size]byte, v verified, generation int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if generation < x.generation {
		return
	}
	if x.generation != generation || len(x.verified) >= maxVerified {
		clear(x.verified)
		x.generation = generation
	}
	x.verified[sum] = v
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

func userOfCertificate(c *x509.Certificate) (*request.User, error) {
	if c.Subject.CommonName == "" {
		return nil, nil
	}
	uid, err := uidOf(c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(c.Raw)
	return &request.User{
		Name:   c.Subject.CommonName,
		UID:    uid,
		Groups: c.Subject.Organization,
		Extra:  map[string][]string{extraCredentialID: {"X509SHA256=" + hex.EncodeToString(sum[:])}},
	}, nil
}

func uidOf(c *x509.Certificate) (string, error) {
	uid, found := "", false
	for _, name := range c.Subject.Names {
		if name.Type.String() != uidOID {
			continue
		}
		if found {
			return "", errors.New("the client certificate has more than one uid")
		}
		value, ok := name.Value.(string)
		if !ok || value == "" {
			return "", errors.New("the uid of the client certificate is not a string")
		}
		uid, found = value, true
	}
	return uid, nil
}

func sumOf(chain []*x509.Certificate) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, c := range chain {
		h.Write(c.Raw)
	}
	h.Sum(sum[:0])
	return sum
}

func copyOf(user *request.User) *request.User {
	if user == nil {
		return nil
	}
	mine := *user
	return &mine
}
