package credentials

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestReloadedPair checks that changed files take effect when both are written, and that a pair in
// memory is used until its files exist.
func TestReloadedPair(t *testing.T) { synctest.Test(t, testReloadedPair) }

func testReloadedPair(t *testing.T) {
	dir := t.TempDir()
	issue := func(common string) *KeyPair {
		t.Helper()
		inMemory := pki{now: time.Now()}
		pair, err := inMemory.issue("tls", &x509.Certificate{Subject: pkix.Name{CommonName: common}, NotAfter: time.Now().Add(time.Hour)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if _, err := NewReloadedPair("certificate", certFile, keyFile, nil); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("without files: %v, want os.ErrNotExist", err)
	}
	pair, err := GeneratedPair("certificate", issue("generated"), dir, "tls", nil)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when, want string) {
		t.Helper()
		time.Sleep(2 * time.Second)
		c, err := pair.Present()
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := leaf.Subject.CommonName; got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect("without files", "generated")
	first, second := issue("first"), issue("second")
	write(keyFile, first.KeyPEM)
	write(certFile, first.CertPEM)
	expect("when the files exist", "first")
	write(keyFile, second.KeyPEM)
	expect("in the middle of a change", "first")
	write(certFile, second.CertPEM)
	expect("after the change", "second")
	if err := errors.Join(os.Remove(keyFile), os.Remove(certFile)); err != nil {
		t.Fatal(err)
	}
	expect("when the files are removed", "second")
}

func TestWarnOfExpiry(t *testing.T) {
	now := time.Now()
	var pairs []ReloadedPair
	for name, left := range map[string]time.Duration{"past": -time.Hour, "soon": 24 * time.Hour, "later": renewBefore + time.Hour} {
		inMemory := pki{now: now}
		pair, err := inMemory.issue(name, &x509.Certificate{NotAfter: now.Add(left)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		generated, err := GeneratedPair(name, pair, "", name, nil)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, generated)
	}
	var log strings.Builder
	WarnOfExpiry(slog.New(slog.NewTextHandler(&log, nil)), pairs, now)
	for _, want := range []string{`level=ERROR msg="a certificate has expired" certificate=past`, `level=WARN msg="a certificate is about to expire" certificate=soon`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "later") {
		t.Errorf("warned of a certificate that is valid for long:\n%s", &log)
	}
}
