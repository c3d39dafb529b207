package peercert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// shown starts a server with a certificate for names.
func shown(t *testing.T, names ...string) (*httptest.Server, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "there.example"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, parsed
}

// value returns the value of a counter.
func value(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// TestNames checks that a certificate without names is counted, whether it was accepted or
// not.
func TestNames(t *testing.T) {
	reg := prometheus.NewRegistry()
	c, err := New(reg, "webhooks", "BETA")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(reg, "webhooks", "BETA"); err == nil {
		t.Error("the counters were registered twice")
	}
	for _, test := range []struct {
		names  []string
		accept bool
		want   float64
	}{{nil, false, 1}, {nil, true, 2}, {[]string{"there.example"}, false, 2}, {[]string{"there.example"}, true, 2}, {[]string{"elsewhere.example"}, false, 2}} {
		s, certificate := shown(t, test.names...)
		roots := x509.NewCertPool()
		roots.AddCert(certificate)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "there.example", InsecureSkipVerify: test.accept}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := c.InstrumentTransport(transport).RoundTrip(r); err == nil {
			_ = answer.Body.Close()
		} else if test.accept {
			t.Error(err)
		}
		if got := value(t, reg, "apiserver_webhooks_x509_missing_san_total"); got != test.want {
			t.Errorf("%v, accepted %v: %v counted, want %v", test.names, test.accept, got, test.want)
		}
	}
	if got := value(t, reg, "apiserver_webhooks_x509_insecure_sha1_total"); got != 0 {
		t.Errorf("%v signatures counted", got)
	}
}

type answering func() (*http.Response, error)

func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a() }

// TestSignatures checks that certificates with SHA-1 signatures are counted, whether they
// were accepted or not.
func TestSignatures(t *testing.T) {
	reg := prometheus.NewRegistry()
	c, err := New(reg, "kube_aggregator", "ALPHA")
	if err != nil {
		t.Fatal(err)
	}
	names := []pkix.Extension{{Id: []int{2, 5, 29, 17}}}
	showing := func(algorithm x509.SignatureAlgorithm, issuer string) answering {
		return func() (*http.Response, error) {
			return &http.Response{TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{
				{Extensions: names}, {SignatureAlgorithm: algorithm, Issuer: pkix.Name{CommonName: issuer}, Subject: pkix.Name{CommonName: "self"}},
			}}}, nil
		}
	}
	insecure := x509.InsecureAlgorithmError(x509.SHA1WithRSA)
	for _, test := range []struct {
		transport answering
		want      float64
	}{
		{showing(x509.SHA1WithRSA, "other"), 1}, {showing(x509.ECDSAWithSHA1, "other"), 1}, {showing(x509.SHA1WithRSA, "self"), 0},
		{showing(x509.SHA256WithRSA, "other"), 0},
		{func() (*http.Response, error) { return &http.Response{}, nil }, 0},
		{func() (*http.Response, error) { return nil, errors.New(insecure.Error()) }, 0},
		{func() (*http.Response, error) {
			return nil, fmt.Errorf("%w (possibly because of %q)", x509.UnknownAuthorityError{}, insecure.Error())
		}, 1},
	} {
		before := value(t, reg, "apiserver_kube_aggregator_x509_insecure_sha1_total")
		_, _ = c.InstrumentTransport(test.transport).RoundTrip(nil)
		if got := value(t, reg, "apiserver_kube_aggregator_x509_insecure_sha1_total") - before; got != test.want {
			t.Errorf("%v counted, want %v", got, test.want)
		}
	}
	if got := value(t, reg, "apiserver_kube_aggregator_x509_missing_san_total"); got != 0 {
		t.Errorf("%v missing names", got)
	}
	if transport := http.DefaultTransport; (*Counters)(nil).InstrumentTransport(transport) != transport {
		t.Error("nil Counters changed the transport")
	}
}
