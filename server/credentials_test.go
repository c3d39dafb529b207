package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// presentedBy returns the certificate that a server presents.
func presentedBy(t *testing.T, srv *Server) *x509.Certificate {
	t.Helper()
	conn, err := tls.Dial("tcp", srv.secure.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

// TestCertificatesRenewedWhileRunning checks that a running server replaces certificates that expire soon, and
// serves with the new one.
func TestCertificatesRenewedWhileRunning(t *testing.T) {
	dir := t.TempDir()
	srv, _ := startWithClient(t, Options{Dir: dir, TLS: TLS{SANs: []string{"lb.example.com", "192.0.2.7"}}})
	first := presentedBy(t, srv)
	if err := errors.Join(first.VerifyHostname("lb.example.com"), first.VerifyHostname("192.0.2.7")); err != nil {
		t.Error(err)
	}
	p := &builder{Server: srv, names: credentials.Names{DNS: first.DNSNames, IPs: first.IPAddresses}}
	pki := filepath.Join(dir, "pki")
	own, err := credentials.Load(pki, p.names, time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	p.current.Store(own)
	file := filepath.Join(dir, "admin.kubeconfig")
	kubeconfig := func() []byte {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	before := kubeconfig()
	if err := p.renew(time.Now().Add(24 * time.Hour)); err != nil || !bytes.Equal(kubeconfig(), before) || p.current.Load().Serving.Cert.SerialNumber.Cmp(first.SerialNumber) != 0 {
		t.Errorf("renewed too early: %v", err)
	}
	// Backdated by an hour, the new certificates are valid now.
	late := time.Now().Add(340 * 24 * time.Hour)
	if err := p.renew(late); err != nil {
		t.Fatal(err)
	}
	if p.current.Load().Serving.Cert.NotAfter.Before(late.Add(300*24*time.Hour)) || bytes.Equal(kubeconfig(), before) {
		t.Error("not renewed")
	}
	eventually.Succeeds(t, "the certificate is renewed", func() error {
		if presentedBy(t, srv).SerialNumber.Cmp(first.SerialNumber) == 0 {
			return errors.New("the server still presents the first certificate")
		}
		return nil
	})
}

// TestWrongNames checks what is refused as a name of the certificate.
func TestWrongNames(t *testing.T) {
	for _, name := range []string{"a b", "*.x", "", "https://x"} {
		if err := (Options{TLS: TLS{SANs: []string{name}}}).Validate(); err == nil ||
			!strings.HasPrefix(err.Error(), "--tls-san: ") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
