package hooks

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestRedirectsAreNotFollowed checks that a redirect is returned as an error, whatever
// client is configured.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"allowed": true}})
	}))
	defer inside.Close()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL, code)
		}))
		client := &http.Client{Transport: hook.Client().Transport}
		server := Webhook{Client: client, URL: hook.URL, Timeout: time.Minute}
		var answer map[string]any
		err := server.Review(t.Context(), []byte("{}"), &answer)
		var refused *StatusError
		if !errors.As(err, &refused) || refused.Code != code || answer != nil || client.CheckRedirect != nil {
			t.Errorf("%d: %v, %v", code, err, answer)
		}
		hook.Close()
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("redirects were followed %d times", n)
	}
}
