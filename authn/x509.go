package authn

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// extraCredentialID is the extra key that identifies the credential of a user in audit logs.
const extraCredentialID = "authentication.kubernetes.io/credential-id"

// uidOID is the object identifier of the subject attribute that contains the user's UID.
const uidOID = "1.3.6.1.4.1.57683.2"

// X509 authenticates TLS client certificates: the common name is the user name, the organizations
// are the groups.
type X509 struct {
	chains  *chainVerifier[*request.User]
	own     *OwnCertificates
	metrics *TokenMetrics
}

// NewX509 returns the method that accepts certificates of the given CAs, except those that API servers
// show to others. Nil metrics count nothing. withUIDs: a certificate can have the UID of its user.
func NewX509(cas *CAFile, own *OwnCertificates, metrics *TokenMetrics, withUIDs bool) *X509 {
	uidOf := subjectUID
	if !withUIDs {
		uidOf = func(*x509.Certificate) (string, error) { return "", nil }
	}
	return &X509{own: own, metrics: metrics, chains: newChains(cas, func(c *x509.Certificate) (*request.User, error) {
		if err := own.checkMarks(c); err != nil {
			return nil, err
		}
		return userOfCertificate(c, uidOf)
	})}
}

// WithClock has certificates judged by a clock, and returns x.
func (x *X509) WithClock(now func() time.Time) *X509 {
	x.chains.now = now
	return x
}

// Authenticate implements Authenticator. A certificate without a common name is not a credential.
func (x *X509) Authenticate(r *http.Request) (Identity, bool, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return Identity{}, false, nil
	}
	if err := checkNotForKubelet(r); err != nil {
		return Identity{}, false, err
	}
	user, err := x.chains.check(r.TLS.PeerCertificates)
	if err == nil {
		x.metrics.certificate(r.TLS.PeerCertificates[0].NotAfter.Sub(x.chains.now()))
	}
	return Identity{Method: "client certificate", User: user}, user != nil && err == nil, err
}

func userOfCertificate(c *x509.Certificate, uidOf func(*x509.Certificate) (string, error)) (*request.User, error) {
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

func subjectUID(c *x509.Certificate) (string, error) {
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
