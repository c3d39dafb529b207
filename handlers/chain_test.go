package handlers

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// behind returns the steps of the chain in front of next, without a store.
func behind(t *testing.T, next http.HandlerFunc, change func(*Config)) http.Handler {
	h := newHandlerWithoutStore(t)
	c := Config{Catalogue: h.Catalogue, Authenticator: somebody{}, Authorizer: everyGroup, RequestTimeout: time.Minute, Gates: testGates()}
	if change != nil {
		change(&c)
	}
	c.Registry = &registry.Registry{} // never reached
	full, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	handler := next
	for _, step := range []step{full.authorize, full.limit, full.boundTime, full.impersonate, full.authenticate, full.parse, full.recoverPanics, full.measure, full.identify} {
		handler = step(handler)
	}
	return handler
}

// through sends a request through the chain. Headers are names and values in turn.
func through(handler http.Handler, r *http.Request, headers ...string) *httptest.ResponseRecorder {
	r.Header.Set("Group", request.GroupMasters)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// TestPanicIsOneResponse checks that a panic becomes a 500 for its request.
func TestPanicIsOneResponse(t *testing.T) {
	handler := behind(t, func(http.ResponseWriter, *http.Request) { panic("on purpose") }, nil)
	w := through(handler, httptest.NewRequest(http.MethodGet, mapsPath, nil), auditID, "my-id")
	s := statusIn(t, w)
	if w.Code != http.StatusInternalServerError || !strings.Contains(s.Message, "caused apiserver to panic") || strings.Contains(s.Message, "on purpose") {
		t.Errorf("got %d %+v", w.Code, s)
	}
	if got := w.Header().Get(auditID); got != "my-id" {
		t.Errorf("the id is %q", got)
	}
}

// TestPanicAfterResponseBegan checks that a panic after the beginning of a response closes the
// connection, so that the client does not take the part for the whole.
func TestPanicAfterResponseBegan(t *testing.T) {
	for _, p := range []any{"on purpose", http.ErrAbortHandler} {
		handler := behind(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("the first half"))
			panic(p)
		}, nil)
		func() {
			defer func() {
				if got := recover(); got != http.ErrAbortHandler {
					t.Errorf("got %v", got)
				}
			}()
			through(handler, httptest.NewRequest(http.MethodGet, mapsPath, nil))
		}()
	}
}

// TestTimeouts checks the deadline of requests.
func TestTimeouts(t *testing.T) {
	var left time.Duration
	handler := behind(t, func(_ http.ResponseWriter, r *http.Request) {
		deadline, ok := r.Context().Deadline()
		if left = time.Until(deadline); !ok {
			left = -1
		}
	}, nil)
	for _, c := range []struct {
		query string
		want  time.Duration // -1: none; 0: refused
	}{
		{"", time.Minute}, {"?timeout=5s", 5 * time.Second}, {"?timeout=5m", time.Minute}, {"?timeout=0s", time.Minute},
		{"?timeout=-1s", time.Minute}, {"?timeout=5", 0}, {"?watch=1", -1}, {"?watch=1&timeout=x", -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			left = 0
			w := through(handler, httptest.NewRequest(http.MethodGet, mapsPath+c.query, nil))
			if left != c.want {
				t.Errorf("%s: %s are left, want %s", c.query, left, c.want)
			}
			if c.want == 0 && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "invalid timeout specified in the request URL - time: ")) {
				t.Errorf("%s: %d %s", c.query, w.Code, w.Body)
			}
		})
	}
}

// TestInflightLimits checks the bounds on requests in progress without a limiter.
func TestInflightLimits(t *testing.T) {
	entered, leave := make(chan string), make(chan struct{})
	handler := behind(t, func(_ http.ResponseWriter, r *http.Request) {
		entered <- r.Method
		<-leave
	}, func(c *Config) { c.MaxRequestsInflight, c.MaxMutatingRequestsInflight = 1, 1 })
	done := make(chan struct{})
	start := func(method, query, group string) {
		go func() {
			through(handler, httptest.NewRequest(method, mapsPath+query, nil), "Group", group)
			done <- struct{}{}
		}()
		<-entered
	}
	start(http.MethodGet, "", "testers")
	start(http.MethodPost, "", "testers")
	start(http.MethodGet, "?watch=1", "testers")
	start(http.MethodGet, "", request.GroupMasters) // administrators are exempt
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		w := through(handler, httptest.NewRequest(method, mapsPath, nil), "Group", "testers")
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || w.Body.String() != "Too many requests, please try again later.\n" {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	for range 4 {
		leave <- struct{}{}
		<-done
	}
	start(http.MethodGet, "", "testers")
	leave <- struct{}{}
	<-done
}

// TestRefusedUsers checks the responses to unauthenticated and unauthorized requests.
func TestRefusedUsers(t *testing.T) {
	handler := behind(t, func(http.ResponseWriter, *http.Request) { t.Error("it was let through") }, nil)
	if w := through(handler, httptest.NewRequest(http.MethodGet, mapsPath, nil), "Group", "others"); w.Code != http.StatusForbidden || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	handler = behind(t, nil, func(c *Config) { c.Authenticator = nobody{} })
	if w := through(handler, httptest.NewRequest(http.MethodGet, mapsPath, nil)); w.Code != http.StatusUnauthorized {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

type nobody struct{}

func (nobody) Authenticate(*http.Request) (authn.Identity, bool, error) {
	return authn.Identity{}, false, errors.New("bad token")
}

// TestRequestIDs checks which ids of clients are used.
func TestRequestIDs(t *testing.T) {
	handler := behind(t, func(http.ResponseWriter, *http.Request) {}, nil)
	seen := map[string]bool{}
	for range 3 {
		seen[through(handler, httptest.NewRequest(http.MethodGet, mapsPath, nil)).Header().Get(auditID)] = true
	}
	long := strings.Repeat("x", 300)
	got := through(handler, httptest.NewRequest(http.MethodGet, mapsPath, nil), auditID, long).Header().Get(auditID)
	if len(seen) != 3 || got != long {
		t.Errorf("got %v and %q", seen, got)
	}
	if short := (&request.Scope{ID: long}).LogID(); len(short) != 64 {
		t.Errorf("the log has %q", short)
	}
}
