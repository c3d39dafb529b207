// Package peercert counts the outdated certificates of servers that this one calls: those
// without subject alternative names, and those with SHA-1 signatures. Clients no longer
// accept them, or only if they are configured to.
package peercert

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// Counters count outdated certificates. A nil *Counters counts nothing.
type Counters struct{ missingSAN, insecureSHA1 prometheus.Counter }

// New registers the counters of a subsystem, whose help shows the stability; reg may be nil.
func New(reg prometheus.Registerer, subsystem, stability string) (*Counters, error) {
	var set metricset.Set
	counter := func(name, of string) prometheus.Counter {
		return set.Counter("apiserver_"+subsystem+"_"+name, "["+stability+"] Number of responses of servers whose certificate "+
			of+", and of connections that failed for this reason.")
	}
	return &Counters{
		missingSAN:   counter("x509_missing_san_total", "has no subject alternative names"),
		insecureSHA1: counter("x509_insecure_sha1_total", "is signed with SHA-1"),
	}, set.Register(reg)
}

// InstrumentTransport returns a transport that counts the certificates of its connections.
func (c *Counters) InstrumentTransport(transport http.RoundTripper) http.RoundTripper {
	if c == nil {
		return transport
	}
	return &countingTransport{transport, c}
}

type countingTransport struct {
	http.RoundTripper
	counters *Counters
}

// RoundTrip implements http.RoundTripper.
func (w *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(r)
	var missing, insecure bool
	switch {
	case err != nil:
		missing, insecure = rejectionReason(err)
	case resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0:
		missing, insecure = lacksSAN(resp.TLS.PeerCertificates[0]), slices.ContainsFunc(resp.TLS.PeerCertificates, signedBySHA1)
	}
	if missing {
		w.counters.missingSAN.Inc()
	}
	if insecure {
		w.counters.insecureSHA1.Inc()
	}
	return resp, err
}

// rejectionReason reports whether an error has one of the two reasons. Only the text of the
// error distinguishes them.
func rejectionReason(err error) (missingSAN, insecureSHA1 bool) {
	var host x509.HostnameError
	missingSAN = errors.As(err, &host) && strings.Contains(err.Error(), "x509: certificate relies on legacy Common Name field")
	var authority x509.UnknownAuthorityError
	if errors.As(err, &authority) {
		_, rest, found := strings.Cut(err.Error(), "x509: cannot verify signature: insecure algorithm")
		insecureSHA1 = found && strings.Contains(rest, "SHA1")
	}
	return missingSAN, insecureSHA1
}

// lacksSAN reports whether a certificate has no subject alternative names.
func lacksSAN(c *x509.Certificate) bool {
	names := asn1.ObjectIdentifier{2, 5, 29, 17}
	for i := range c.Extensions {
		if c.Extensions[i].Id.Equal(names) {
			return false
		}
	}
	return true
}

// signedBySHA1 reports whether another certificate signed this one with SHA-1. The
// self-signature of a root is not verified, so it does not count.
func signedBySHA1(c *x509.Certificate) bool {
	return (c.SignatureAlgorithm == x509.SHA1WithRSA || c.SignatureAlgorithm == x509.ECDSAWithSHA1) && c.Issuer.String() != c.Subject.String()
}
