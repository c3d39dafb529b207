package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// TestKubeletCertificates checks that the server presents a certificate of its CA to a
// kubelet that requires one.
func TestKubeletCertificates(t *testing.T) {
	dir := t.TempDir()
	own, err := credentials.Load(dir, credentials.Names{}, time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	roots := x509.NewCertPool()
	roots.AddCert(own.CA.Cert)
	kubelet.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots}
	kubelet.StartTLS()
	defer kubelet.Close()
	its := filepath.Join(dir, "kubelet.crt")
	if err := os.WriteFile(its, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kubelet.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(kubelet.URL)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name       string
		o          Options
		unverified bool
		want       string
	}{
		{"own", Options{}, false, "kube-apiserver-kubelet-client"},
		{"given", Options{Kubelets: Kubelets{CertFile: file("admin.crt"), KeyFile: file("admin.key"), CAFile: its}},
			false, credentials.AdminName},
		{"of another CA", Options{Kubelets: Kubelets{CAFile: file("ca.crt")}}, false, ""},
		{"whoever it is", Options{Kubelets: Kubelets{CAFile: file("ca.crt")}}, true, "kube-apiserver-kubelet-client"},
	} {
		c.o.Kubelets.AllowLoopback = true
		c.o.NoDataDir = true
		o := c.o.withDefaults()
		certificate, err := kubeletCertificate(&o, own)
		if err != nil {
			t.Fatal(err)
		}
		p, err := newConnections(&o, certificate, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		text := []byte(nil)
		body, err := p.Open(t.Context(), &api.Location{URL: *at, Kubelet: true, Unverified: c.unverified}, schema.GroupResource{Resource: "pods"}, "p")
		if err == nil {
			text, err = io.ReadAll(body)
			body.Close()
		}
		if string(text) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
	}
	if _, err := newConnections(&Options{Kubelets: Kubelets{CAFile: file("ca.key")}}, credentials.ReloadedPair{},
		nil); err == nil {
		t.Error("a key is taken for a CA")
	}
}

// TestKubeletCredentialsChange replaces the CA of kubelets and the client certificate: connections made
// later use the new ones.
func TestKubeletCredentialsChange(t *testing.T) {
	dir := t.TempDir()
	own, err := credentials.Generate(dir, credentials.Names{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	kubelet.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	kubelet.StartTLS()
	defer kubelet.Close()
	file := func(name string, data []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	o := Options{
		NoDataDir: true, Kubelets: Kubelets{AllowLoopback: true, CAFile: file("cas.crt", own.CA.CertPEM),
			CertFile: file("client.crt", own.Kubelets.CertPEM), KeyFile: file("client.key", own.Kubelets.KeyPEM)},
	}.withDefaults()
	certificate, err := kubeletCertificate(&o, own)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newConnections(&o, certificate, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	at, err := url.Parse(kubelet.URL)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (string, error) {
		body, err := p.Open(t.Context(), &api.Location{URL: *at, Kubelet: true}, schema.GroupResource{Resource: "pods"}, "p")
		if err != nil {
			return "", err
		}
		defer body.Close()
		text, err := io.ReadAll(body)
		return string(text), err
	}
	if text, err := read(); err == nil {
		t.Fatalf("a kubelet of another CA answered %q", text)
	}
	file("cas.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kubelet.Certificate().Raw}))
	expect := func(when, want string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			kubelet.CloseClientConnections()
			text, err := read()
			if text == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %q, %v, want %q", when, text, err, want)
			}
		}
	}
	expect("with the kubelet's CA", credentials.KubeletClientName)
	file("client.key", own.Admin.KeyPEM)
	file("client.crt", own.Admin.CertPEM)
	expect("with another client certificate", credentials.AdminName)
}
