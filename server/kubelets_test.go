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
		{"given", Options{KubeletCertFile: file("admin.crt"), KubeletKeyFile: file("admin.key"), KubeletCAFile: its}, false, credentials.AdminName},
		{"of another CA", Options{KubeletCAFile: file("ca.crt")}, false, ""},
		{"whoever it is", Options{KubeletCAFile: file("ca.crt")}, true, "kube-apiserver-kubelet-client"},
	} {
		c.o.LoopbackKubelets = true
		p, err := newConnections(new(c.o.withDefaults()), own, nil)
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
	if _, err := newConnections(&Options{KubeletCAFile: file("ca.key")}, own, nil); err == nil {
		t.Error("a key is taken for a CA")
	}
}
