package main

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLastResponse checks that an update changes the last response, and that the object is read again after a
// failure.
func TestLastResponse(t *testing.T) {
	var requests []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.Method)
		version := strings.Repeat("1", len(requests))
		if len(requests) == 3 {
			w.WriteHeader(http.StatusConflict)
			return
		}
		object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}}
		_, _ = w.Write(encode("v1", "Secret", object)) // a failure fails the client
	}))
	defer server.Close()
	a := &access{urls: []string{server.URL}, tls: &tls.Config{InsecureSkipVerify: true}}
	rec := newRecorder()
	c, err := a.connect(t.Context(), 0, "test", rec, newLedgers(rec))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var last lastResponse
	var versions []uint64
	update := func() error {
		return last.update(t.Context(), c, renewLease, "/a", func(object []byte) ([]byte, error) {
			m, err := decodeMetadata(object)
			versions = append(versions, m.version)
			return object, err
		})
	}
	requests = nil
	for i, want := range []int{0, http.StatusConflict, 0, 0} {
		if err := update(); codeOf(err) != want || want == 0 && err != nil {
			t.Errorf("update %d: %v", i, err)
		}
	}
	if got := strings.Join(requests, " "); got != "GET PUT PUT GET PUT PUT" {
		t.Errorf("requests %s", got)
	}
	for i, want := range []uint64{1, 11, 1111, 11111} {
		if versions[i] != want {
			t.Errorf("update %d is of version %d, want %d", i, versions[i], want)
		}
	}
}
