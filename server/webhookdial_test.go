package server

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/peercert"
)

// TestWebhookDialerReloads checks that a client of a webhook follows changes of its kubeconfig: the
// URL, the CA and the token.
func TestWebhookDialerReloads(t *testing.T) {
	dir := t.TempDir()
	backend := func(name string) (*httptest.Server, string) {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, name, r.URL.Path, " ", r.Header.Get("Authorization"))
		}))
		t.Cleanup(s.Close)
		ca := filepath.Join(dir, name+".crt")
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return s, ca
	}
	first, firstCA := backend("first")
	second, secondCA := backend("second")
	file := filepath.Join(dir, "kubeconfig")
	write := func(url, ca, token string) {
		t.Helper()
		text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
			"clusters": [{"name": "k", "cluster": {"server": %q, "certificate-authority": %q}}], "users": [{"name": "u", "user": {"token": %q}}]}`, url, ca, token)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificates, err := peercert.New(nil, "webhooks", "BETA")
	if err != nil {
		t.Fatal(err)
	}
	dial := newWebhookDialer(certificates.InstrumentTransport, nil, nil)
	if _, _, err := dial(file); !os.IsNotExist(err) {
		t.Fatalf("without a file: %v", err)
	}
	write(first.URL+"/review", firstCA, "one")
	client, url, err := dial(file)
	if err != nil {
		t.Fatal(err)
	}
	post := func() string {
		t.Helper()
		w, err := client.Post(url, "application/json", nil)
		if err != nil {
			return err.Error()
		}
		defer w.Body.Close()
		text, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got, want := post(), "first/review Bearer one"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	write(second.URL+"/other", secondCA, "two")
	const want = "second/other Bearer two"
	for deadline := time.Now().Add(20 * time.Second); post() != want; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after the change: got %q, want %q", post(), want)
		}
	}
}
