package hooks

import (
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestParseEndpoint checks the endpoints of services and URLs, and the errors for invalid
// configurations.
func TestParseEndpoint(t *testing.T) {
	text := func(s string) *string { return &s }
	port := int32(8443)
	for _, c := range []struct {
		config          admissionv1.WebhookClientConfig
		url, host, fail string
	}{
		{admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "ns", Name: "s"}}, "https://s.ns.svc:443/", "s.ns.svc:443", ""},
		{admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "ns", Name: "s", Port: &port, Path: text("a/../b")}}, "https://s.ns.svc:8443/b", "s.ns.svc:8443", ""},
		{admissionv1.WebhookClientConfig{URL: text("https://host.test/a?b=c")}, "https://host.test/a", "host.test:443", ""},
		{admissionv1.WebhookClientConfig{URL: text("https://host.test:1/")}, "https://host.test:1/", "host.test:1", ""},
		{admissionv1.WebhookClientConfig{URL: text("https://%zz")}, "", "", "Unparsable URL: "},
		{admissionv1.WebhookClientConfig{}, "", "", "webhook configuration must have either service or URL"},
	} {
		e := ParseEndpoint(&c.config)
		if e.URL != c.url || e.Host != c.host || (e.Err == nil) != (c.fail == "") || e.Err != nil && !strings.HasPrefix(e.Err.Error(), c.fail) {
			t.Errorf("got %+v, want %s at %s, %q", e, c.url, c.host, c.fail)
		}
	}
}

// TestPost checks what a webhook receives, and what Post returns for its responses.
func TestPost(t *testing.T) {
	var sent *http.Request
	var body string
	status, answer := http.StatusOK, `{"a":1}`
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		sent, body = r, string(data)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer hook.Close()
	clients := New(Config{})
	defer clients.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}))
	endpoint := &Endpoint{URL: hook.URL + "/path", Host: hook.Listener.Addr().String(), CA: ca}
	post := func(most int64) (string, error) {
		t.Helper()
		client, err := clients.ForEndpoint(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
		defer cancel()
		data, err := client.Post(ctx, endpoint, []byte("question"), most)
		return string(data), err
	}
	if got, err := post(100); err != nil || got != answer {
		t.Errorf("got %q, %v", got, err)
	}
	if body != "question" || sent.Method != http.MethodPost || sent.URL.String() != "/path?timeout=10s" || sent.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the webhook was sent %s %s %v %q", sent.Method, sent.URL, sent.Header, body)
	}
	if _, err := post(3); err == nil || !strings.Contains(err.Error(), "larger than 3 bytes") {
		t.Errorf("a large answer: %v", err)
	}
	status, answer = http.StatusInternalServerError, "a secret"
	if _, err := post(100); !apierrors.IsInternalError(err) || strings.Contains(err.Error(), answer) {
		t.Errorf("a failure: %v", err)
	} else if after, ok := apierrors.SuggestsClientDelay(err); !ok || after != 7 {
		t.Errorf("the client is to wait %d s, %t", after, ok)
	}
	status, answer = http.StatusOK, ""
	if _, err := post(100); err == nil || !strings.Contains(err.Error(), "0-length response with status code: 200") {
		t.Errorf("an empty answer: %v", err)
	}
}

// TestForEndpoint checks that an endpoint has one client, that another CA means another
// client, and that the number of clients is limited.
func TestForEndpoint(t *testing.T) {
	clients := New(Config{})
	defer clients.Close()
	of := func(e Endpoint) *Client {
		t.Helper()
		c, err := clients.ForEndpoint(&e)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := of(Endpoint{URL: "https://a.test"})
	if of(Endpoint{URL: "https://a.test"}) != first {
		t.Error("the endpoint has two clients")
	}
	if _, err := clients.ForEndpoint(&Endpoint{URL: "https://a.test", CA: "junk"}); err == nil {
		t.Error("an invalid CA is accepted")
	}
	for i := range maxClients {
		of(Endpoint{URL: "https://a.test/" + strings.Repeat("x", i+1)})
	}
	if clients.clients.Len() != maxClients || of(Endpoint{URL: "https://a.test"}) == first {
		t.Errorf("%d clients are cached, want %d without the first", clients.clients.Len(), maxClients)
	}
}
