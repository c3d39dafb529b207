// Package peercert counts how often servers that this one calls show certificates
// of a kind that clients do not accept any more, or accept only because they were
// told to: without the names that they are for in their extension, and signed by
// way of SHA-1. Packages that call other servers have their connections watched.
package peercert

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Counters count such certificates. Those that are nil count nothing.
type Counters struct{ missingSAN, insecureSHA1 prometheus.Counter }

// New registers counters of a subsystem of the server; reg may be nil.
func New(reg prometheus.Registerer, subsystem string) (*Counters, error) {
	counter := func(name, of, lack string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "apiserver", Subsystem: subsystem, Name: name,
			Help: "Counts the number of requests to servers " + of + " in their serving certificate OR the number of connection failures due to the " +
				lack + " (either/or, based on the runtime environment)"})
	}
	c := &Counters{
		missingSAN:   counter("x509_missing_san_total", "missing SAN extension", "lack of x509 certificate SAN extension missing"),
		insecureSHA1: counter("x509_insecure_sha1_total", "with insecure SHA1 signatures", "insecure SHA1 signatures"),
	}
	if reg == nil {
		return c, nil
	}
	for _, one := range []prometheus.Collector{c.missingSAN, c.insecureSHA1} {
		if err := reg.Register(one); err != nil {
			return nil, fmt.Errorf("register metrics of certificates: %w", err)
		}
	}
	return c, nil
}

// InstrumentTransport is a transport whose connections are watched.
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
	answer, err := w.RoundTripper.RoundTrip(r)
	var missing, insecure bool
	switch {
	case err != nil:
		missing, insecure = rejectionReason(err)
	case answer.TLS != nil && len(answer.TLS.PeerCertificates) > 0:
		missing, insecure = lacksSAN(answer.TLS.PeerCertificates[0]), slices.ContainsFunc(answer.TLS.PeerCertificates, signedBySHA1)
	}
	if missing {
		w.counters.missingSAN.Inc()
	}
	if insecure {
		w.counters.insecureSHA1.Inc()
	}
	return answer, err
}

// rejectionReason tells whether the certificate was the reason of an error. Nothing but
// the text of errors tells the reasons apart.
func rejectionReason(err error) (missing, insecure bool) {
	var host x509.HostnameError
	missing = errors.As(err, &host) && strings.Contains(err.Error(), "x509: certificate relies on legacy Common Name field")
	var authority x509.UnknownAuthorityError
	if errors.As(err, &authority) {
		_, rest, found := strings.Cut(err.Error(), "x509: cannot verify signature: insecure algorithm")
		insecure = found && strings.Contains(rest, "SHA1")
	}
	return missing, insecure
}

func lacksSAN(c *x509.Certificate) bool {
	names := asn1.ObjectIdentifier{2, 5, 29, 17}
	for i := range c.Extensions {
		if c.Extensions[i].Id.Equal(names) {
			return false
		}
	}
	return true
}

// signedBySHA1 tells of certificates that others signed: what is said of a root
// itself is no signature that counts.
func signedBySHA1(c *x509.Certificate) bool {
	return (c.SignatureAlgorithm == x509.SHA1WithRSA || c.SignatureAlgorithm == x509.ECDSAWithSHA1) && c.Issuer.String() != c.Subject.String()
}
