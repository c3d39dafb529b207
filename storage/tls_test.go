package storage

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// testAuthority issues certificates.
type testAuthority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // its own certificate
}

func newAuthority(t *testing.T) *testAuthority {
	t.Helper()
	a := &testAuthority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.file, _ = a.issue("ca", template)
	return a
}

// issue writes a certificate and its key. The first one is self-signed, the others are
// signed by the authority.
func (a *testAuthority) issue(name string, template *x509.Certificate) (cert, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &private.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
		a.key = private
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, key = filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return cert, key
}

// leafTemplate returns a certificate template for etcd or its client.
func leafTemplate() *x509.Certificate {
	return &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// secureEtcd starts an etcd that requires client certificates, and returns its address.
func secureEtcd(t *testing.T, a *testAuthority) string {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = t.TempDir(), "panic"
	peer := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = peer, peer
	client := []url.URL{{Scheme: "https", Host: "127.0.0.1:0"}}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = client, client
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cert, key := a.issue("etcd", leafTemplate())
	cfg.ClientTLSInfo = transport.TLSInfo{CertFile: cert, KeyFile: key, TrustedCAFile: a.file, ClientCertAuth: true}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		for range e.Err() {
		}
	})
	<-e.Server.ReadyNotify()
	return "https://" + e.Clients[0].Addr().String()
}

// TestTLS connects over TLS to the second of two endpoints, the first of which does not
// respond, and checks the errors for wrong credentials.
func TestTLS(t *testing.T) {
	a := newAuthority(t)
	addr := secureEtcd(t, a)
	cert, key := a.issue("client", leafTemplate())
	o := Options{Servers: []string{"https://127.0.0.1:1", addr}, CAFile: a.file, CertFile: cert, KeyFile: key}
	_, c := startStore(t, o)
	w := mustWatch(t, c, WatchOptions{})
	made := mustCreate(t, c, "a/x", "1")
	nextEvents(t, w, 1)
	if i, err := c.Get(t.Context(), "a/x", Read{}); err != nil || i.Revision() != made.Revision() {
		t.Errorf("%v %v", i, err)
	}

	other := newAuthority(t)
	otherCert, otherKey := other.issue("client", leafTemplate())
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no CA":                 {Options{}, "certificate signed by unknown authority"},
		"other CA":              {Options{CAFile: other.file, CertFile: cert, KeyFile: key}, "certificate signed by unknown authority"},
		"no certificate":        {Options{CAFile: a.file}, "certificate required"},
		"another's certificate": {Options{CAFile: a.file, CertFile: otherCert, KeyFile: otherKey}, "unknown certificate authority"},
		"CA without any":        {Options{CAFile: key}, "no PEM certificate found"},
		"key of another":        {Options{CAFile: a.file, CertFile: cert, KeyFile: otherKey}, "private key does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.Servers = []string{addr}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			s, err := Open(ctx, c.o)
			if err == nil {
				t.Error("opened with wrong credentials", s.Close())
			} else if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
