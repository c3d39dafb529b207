package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestValidateTLS checks the errors for invalid TLS options.
func TestValidateTLS(t *testing.T) {
	for _, c := range []struct {
		version string
		suites  []string
		want    string
	}{
		{"", nil, ""},
		{"VersionTLS13", []string{"TLS_AES_128_GCM_SHA256"}, ""},
		{"VersionTLS12", []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"}, ""},
		{"VersionTLS11", nil, "--tls-min-version: VersionTLS11 is not safe"},
		{"1.2", nil, `--tls-min-version: unknown tls version "1.2"`},
		{"", []string{"NOPE"}, "--tls-cipher-suites: cipher suite NOPE is not supported or doesn't exist"},
		{"", []string{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}, "--tls-cipher-suites: HTTP/2 needs"},
	} {
		err := Options{TLS: TLS{MinVersion: c.version, CipherSuites: c.suites}}.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// handshake connects with a version of TLS, and returns the result.
func handshake(s *Server, version uint16) (tls.ConnectionState, error) {
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: version})
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer c.Close()
	return c.ConnectionState(), nil
}

// TestTLSOptions checks the accepted versions and cipher suites.
func TestTLSOptions(t *testing.T) {
	s := run(t, Options{TLS: TLS{CipherSuites: []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}}})
	if state, err := handshake(s, tls.VersionTLS12); err != nil || state.CipherSuite != tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 {
		t.Errorf("TLS 1.2: got %s, %v", tls.CipherSuiteName(state.CipherSuite), err)
	}
	if _, err := handshake(s, tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is served")
	}
	s = run(t, Options{TLS: TLS{MinVersion: "VersionTLS13"}})
	if _, err := handshake(s, tls.VersionTLS12); err == nil {
		t.Error("TLS 1.2 is served")
	}
	if _, err := handshake(s, tls.VersionTLS13); err != nil {
		t.Errorf("TLS 1.3: %v", err)
	}
}

// newTestCA returns the PEM of a new CA.
func newTestCA(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// acceptableCAs returns the common names of the CAs in the server's request for a certificate.
func acceptableCAs(s *Server) ([]string, error) {
	var names []string
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{InsecureSkipVerify: true,
		GetClientCertificate: func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			for _, raw := range r.AcceptableCAs {
				var name pkix.RDNSequence
				if _, err := asn1.Unmarshal(raw, &name); err != nil {
					return nil, err
				}
				var parsed pkix.Name
				parsed.FillFromRDNSequence(&name)
				names = append(names, parsed.CommonName)
			}
			return &tls.Certificate{}, nil
		}})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return names, c.Handshake()
}

// TestReplacedCAs checks that the server names the CAs of clients and proxies when it requests a
// certificate, and that it names and publishes the CAs of a file that was replaced.
func TestReplacedCAs(t *testing.T) {
	dir := t.TempDir()
	clients, proxies := filepath.Join(dir, "clients.crt"), filepath.Join(dir, "proxies.crt")
	write := func(path string, content []byte) {
		t.Helper()
		// As a whole, so that the server does not read a part.
		if err := errors.Join(os.WriteFile(path+".new", content, 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	write(clients, newTestCA(t, "clients"))
	write(proxies, newTestCA(t, "proxies"))
	s := run(t, Options{Authentication: Authentication{ClientCAFile: clients, ProxyCAFile: proxies,
		ProxyUserHeaders: []string{"X-Remote-User"}}})
	names, err := acceptableCAs(s)
	if err != nil || len(names) != 3 || !slices.Equal(names[1:], []string{"clients", "proxies"}) {
		t.Fatalf("the acceptable CAs are %q, %v", names, err)
	}
	newClients, newProxies := newTestCA(t, "new clients"), newTestCA(t, "new proxies")
	write(clients, newClients)
	write(proxies, newProxies)
	client := clientOf(t, s.RESTConfig())
	eventually.Succeeds(t, "the CAs are served", func() error {
		if names, err = acceptableCAs(s); err != nil || len(names) != 3 || !slices.Equal(names[1:], []string{"new clients", "new proxies"}) {
			return fmt.Errorf("the acceptable CAs are %q, %v", names, err)
		}
		published, err := client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
		if err != nil {
			return err
		}
		// The former CAs remain: certificates that they issued may be in use at other servers.
		for _, c := range []struct {
			key   string
			last  []byte
			count int
		}{{"client-ca-file", newClients, 3}, {"requestheader-client-ca-file", newProxies, 2}} {
			if cas := published.Data[c.key]; !strings.HasSuffix(cas, string(c.last)) || strings.Count(cas, "BEGIN") != c.count {
				return fmt.Errorf("%s: %s", c.key, cas)
			}
		}
		return nil
	})
}
