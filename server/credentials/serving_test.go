package credentials

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestServingCertificateReloads checks that changed files take effect when both are
// written.
func TestServingCertificateReloads(t *testing.T) {
	dir := t.TempDir()
	p := pki{dir: dir, now: time.Now()}
	writePairFor := func(name, common string) *KeyPair {
		t.Helper()
		pair, err := p.issue(name, &x509.Certificate{Subject: pkix.Name{CommonName: common}, NotAfter: time.Now().Add(time.Hour)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	first := writePairFor("tls", "first")
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	s, err := NewServingCertificate(first, certFile, keyFile, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Now()
	s.now = func() time.Time { return clock }
	presented := func() string {
		t.Helper()
		clock = clock.Add(servingRecheck)
		c, err := s.Get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Subject.CommonName
	}
	if got := presented(); got != "first" {
		t.Errorf("got %s", got)
	}
	other := writePairFor("other", "second")
	// A change of the key alone has no effect yet.
	if err := os.WriteFile(keyFile, other.KeyPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := presented(); got != "first" {
		t.Errorf("in the middle of a change: got %s", got)
	}
	if err := os.WriteFile(certFile, other.CertPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := presented(); got != "second" {
		t.Errorf("after the change: got %s", got)
	}
}
