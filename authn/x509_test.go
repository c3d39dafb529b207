package authn

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// issuer is a test CA.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.cert, i.key = i.sign(t, x509.Certificate{
		Subject: pkix.Name{CommonName: "test ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(24 * time.Hour),
	})
	return i
}

// sign signs c with the fields that all certificates share; the first certificate is self-signed.
func (i *issuer) sign(t *testing.T, c x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore = big.NewInt(7), time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := i.cert, i.key
	if parent == nil {
		parent, signer = &c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (i *issuer) client(t *testing.T, subject pkix.Name) *x509.Certificate {
	cert, _ := i.sign(t, x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return cert
}

func (i *issuer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw})
}

func with(chain ...*x509.Certificate) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: chain}
	return r
}

func newX509(t *testing.T, i *issuer) *X509 {
	t.Helper()
	cas, err := NewCAFile("client CAs", i.pem(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return NewX509(cas, nil, nil, true)
}

// TestX509WithoutUIDs checks that the UID of a certificate counts only if its feature is enabled.
func TestX509WithoutUIDs(t *testing.T) {
	ca := newIssuer(t)
	cas, err := NewCAFile("client CAs", ca.pem(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	uid := pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: "42"}
	for _, names := range [][]pkix.AttributeTypeAndValue{{uid}, {uid, uid}} { // two are invalid
		cert := ca.client(t, pkix.Name{CommonName: "jane", ExtraNames: names})
		for enabled, want := range map[bool]string{true: "42", false: ""} {
			id, ok, err := NewX509(cas, nil, nil, enabled).Authenticate(with(cert))
			valid := !enabled || len(names) == 1
			if ok != valid || (err == nil) != valid || ok && (id.User.Name != "jane" || id.User.UID != want) {
				t.Errorf("%d UIDs, enabled %t: got %+v, %t, %v", len(names), enabled, id.User, ok, err)
			}
		}
	}
}

func TestX509User(t *testing.T) {
	ca := newIssuer(t)
	x := newX509(t, ca)
	uid := pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: "42"}
	cert := ca.client(t, pkix.Name{CommonName: "jane", Organization: []string{"dev", "ops"}, ExtraNames: []pkix.AttributeTypeAndValue{uid}})
	for range 2 { // the second result comes from the cache
		id, ok, err := x.Authenticate(with(cert))
		user := id.User
		if !ok || err != nil {
			t.Fatalf("got %v, %v", ok, err)
		}
		if user.Name != "jane" || user.UID != "42" || strings.Join(user.Groups, ",") != "dev,ops" {
			t.Errorf("got %+v", user)
		}
		if id := user.Extra[extraCredentialID]; len(id) != 1 || !strings.HasPrefix(id[0], "X509SHA256=") {
			t.Errorf("credential id: %v", id)
		}
	}
}

func TestX509Refuses(t *testing.T) {
	ca, other := newIssuer(t), newIssuer(t)
	x := newX509(t, ca)
	uid := pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: "42"}
	server, _ := ca.sign(t, x509.Certificate{Subject: pkix.Name{CommonName: "jane"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	expired, _ := ca.sign(t, x509.Certificate{Subject: pkix.Name{CommonName: "jane"}, NotAfter: time.Now().Add(-time.Minute),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	cases := []struct {
		name string
		r    *http.Request
		bad  bool
	}{
		{"no TLS", httptest.NewRequest("GET", "/", nil), false},
		{"no certificate", with(), false},
		{"no name", with(ca.client(t, pkix.Name{Organization: []string{"system:masters"}})), false},
		{"another CA", with(other.client(t, pkix.Name{CommonName: "jane"})), true},
		{"for servers", with(server), true},
		{"expired", with(expired), true},
		{"two uids", with(ca.client(t, pkix.Name{CommonName: "jane", ExtraNames: []pkix.AttributeTypeAndValue{uid, uid}})), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			id, ok, err := x.Authenticate(c.r)
			if ok || id.User != nil || (err != nil) != c.bad {
				t.Errorf("got %+v, %v, %v", id, ok, err)
			}
		})
	}
}

// TestX509CacheFollowsClock checks that a certificate that was accepted is refused when the clock
// shows a time after its validity, or, because the clock was set back, before it.
func TestX509CacheFollowsClock(t *testing.T) {
	ca := newIssuer(t)
	x := newX509(t, ca)
	cert := ca.client(t, pkix.Name{CommonName: "jane"})
	for _, step := range []struct {
		shift time.Duration
		valid bool
	}{{0, true}, {2 * time.Hour, false}, {0, true}, {-2 * time.Hour, false}, {0, true}} {
		x.chains.now = func() time.Time { return time.Now().Add(step.shift) }
		if _, ok, err := x.Authenticate(with(cert)); ok != step.valid || (err == nil) != step.valid {
			t.Errorf("at %v: %v, %v", step.shift, ok, err)
		}
	}
}

func TestX509MemoryIsBounded(t *testing.T) {
	x := newX509(t, newIssuer(t))
	for i := range 3 * maxVerified {
		x.chains.verified.put([32]byte{byte(i), byte(i >> 8)}, verified[*request.User]{}, 1)
	}
	if n := x.chains.verified.cache().Len(); n > maxVerified {
		t.Errorf("%d certificates cached", n)
	}
}

func TestCAFileReloads(t *testing.T) { synctest.Test(t, testCAFileReloads) }

func testCAFileReloads(t *testing.T) {
	own, first, second := newIssuer(t), newIssuer(t), newIssuer(t)
	path := filepath.Join(t.TempDir(), "ca.crt")
	write := func(data []byte) {
		t.Helper()
		next := path + ".next"
		if err := os.WriteFile(next, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
	}
	write(first.pem())
	cas, err := NewCAFile("client CAs", own.pem(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := NewX509(cas, nil, nil, true)
	accepts := func(i *issuer) bool {
		_, ok, _ := x.Authenticate(with(i.client(t, pkix.Name{CommonName: "jane"})))
		return ok
	}
	known := with(first.client(t, pkix.Name{CommonName: "jane"}))
	if _, ok, _ := x.Authenticate(known); !ok || !accepts(own) || accepts(second) {
		t.Fatal("before the change")
	}
	write(append([]byte("# rotated\n"), second.pem()...))
	time.Sleep(2 * time.Second)
	if !accepts(second) || !accepts(own) || accepts(first) {
		t.Error("the change was not seen")
	}
	if _, ok, err := x.Authenticate(known); ok || err == nil {
		t.Error("a certificate of the CA that is gone is still remembered as good")
	}
	write([]byte("-----BEGIN"))
	time.Sleep(2 * time.Second)
	if !accepts(second) {
		t.Error("a file that cannot be read locked everybody out")
	}
}

func TestParseCertificates(t *testing.T) {
	ca := newIssuer(t)
	key := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte{1}})
	certs, err := ParseCertificates(bytes.Join([][]byte{key, ca.pem(), []byte("text\n"), ca.pem()}, nil))
	if err != nil || len(certs) != 2 {
		t.Errorf("got %d certificates, %v", len(certs), err)
	}
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})
	for _, data := range [][]byte{nil, []byte("no"), key, append(ca.pem(), broken...)} {
		if _, err := ParseCertificates(data); err == nil {
			t.Errorf("%.30q: no error", data)
		}
	}
}
