package authn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/internal/seriestest"
	"github.com/miniapiserver/miniapiserver/request"
)

// reviewerServer is a webhook over mutual TLS with a replaceable handler.
type reviewerServer struct {
	*Webhook
	asked  atomic.Int32
	answer atomic.Pointer[func(http.ResponseWriter, *http.Request, *authenticationv1.TokenReview)]
}

func newReviewer(t *testing.T) *reviewerServer {
	t.Helper()
	ca := newIssuer(t)
	s := &reviewerServer{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || r.Method != http.MethodPost || r.URL.Path != "/review" {
			t.Errorf("got %s %s", r.Method, r.URL)
		}
		(*s.answer.Load())(w, r, &review)
	}))
	certificate, key := ca.sign(t, x509.Certificate{Subject: pkix.Name{CommonName: "webhook"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}}}
	server.Config.ErrorLog = nil
	server.StartTLS()
	client, clientKey := ca.sign(t, x509.Certificate{Subject: pkix.Name{CommonName: "api"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool,
		Certificates: []tls.Certificate{{Certificate: [][]byte{client.Raw}, PrivateKey: clientKey}}}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	s.Webhook = &Webhook{Client: &http.Client{Transport: transport}, URL: server.URL + "/review", Audiences: []string{"api"}, Backoff: time.Millisecond}
	return s
}

func (s *reviewerServer) answers(f func(http.ResponseWriter, *http.Request, *authenticationv1.TokenReview)) {
	s.answer.Store(&f)
}

// says makes the webhook respond with a status.
func (s *reviewerServer) says(status authenticationv1.TokenReviewStatus) {
	s.answers(func(w http.ResponseWriter, _ *http.Request, review *authenticationv1.TokenReview) {
		review.Spec, review.Status = authenticationv1.TokenReviewSpec{}, status
		_ = json.NewEncoder(w).Encode(review)
	})
}

func TestWebhook(t *testing.T) {
	jane := authenticationv1.UserInfo{Username: "jane", UID: "7", Groups: []string{"dev"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}
	for _, c := range []struct {
		name      string
		v1beta1   bool
		wanted    []string
		status    authenticationv1.TokenReviewStatus
		audiences []string // nil if the token is unknown
		err       string
	}{
		{name: "known", status: authenticationv1.TokenReviewStatus{Authenticated: true, User: jane}, audiences: []string{"api"}},
		{name: "v1beta1", v1beta1: true, status: authenticationv1.TokenReviewStatus{Authenticated: true, User: jane}, audiences: []string{"api"}},
		{name: "unknown", status: authenticationv1.TokenReviewStatus{}},
		{name: "error", status: authenticationv1.TokenReviewStatus{Error: "expired"}, err: "expired"},
		{name: "for this server", status: authenticationv1.TokenReviewStatus{Authenticated: true, User: jane, Audiences: []string{"x", "api"}}, audiences: []string{"api"}},
		{name: "for others", status: authenticationv1.TokenReviewStatus{Authenticated: true, User: jane, Audiences: []string{"x"}}},
		{name: "asked for others", wanted: []string{"x"}, status: authenticationv1.TokenReviewStatus{Authenticated: true, User: jane, Audiences: []string{"x"}}, audiences: []string{"x"}},
		{name: "asked for others, response without audiences", wanted: []string{"x"}, status: authenticationv1.TokenReviewStatus{Authenticated: true, User: jane}},
		{name: "no user name", status: authenticationv1.TokenReviewStatus{Authenticated: true}, err: "without a user name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newReviewer(t)
			s.V1beta1 = c.v1beta1
			s.says(c.status)
			ctx := t.Context()
			if c.wanted != nil {
				ctx = withAudiences(ctx, c.wanted)
			}
			id, ok, err := s.AuthenticateToken(ctx, "secret-token")
			if ok != (c.audiences != nil) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("got %v, %v", ok, err)
			}
			want := Identity{Method: "webhook", User: &request.User{Name: "jane", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}, Audiences: c.audiences}
			if ok && !reflect.DeepEqual(id, want) {
				t.Errorf("got %+v", id)
			}
		})
	}
}

// TestWebhookFailures checks that no token is accepted if the webhook fails, hangs or sends an
// invalid response.
func TestWebhookFailures(t *testing.T) {
	text := func(code int, body string) func(http.ResponseWriter, *http.Request, *authenticationv1.TokenReview) {
		return func(w http.ResponseWriter, _ *http.Request, _ *authenticationv1.TokenReview) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request, *authenticationv1.TokenReview)
		asked  int32
		err    string
	}{
		{"fails", text(500, "no"), hooks.MaxAttempts, "the webhook answered 500"},
		{"refuses", text(403, "no"), 1, "the webhook answered 403"},
		{"no JSON", text(200, "secret-token"), 1, "token review: the webhook's answer: "},
		{"another kind", text(200, `{"apiVersion":"v1","kind":"Secret","status":{"authenticated":true,"user":{"username":"root"}}}`), 1, "not a TokenReview"},
		{"another version", text(200, `{"apiVersion":"authentication.k8s.io/v1beta1","kind":"TokenReview","status":{"authenticated":true,"user":{"username":"root"}}}`), 1, "not a TokenReview of authentication.k8s.io/v1"},
		{"too long", text(200, `{"kind":"`+strings.Repeat("x", hooks.MaxResponse)+`"}`), 1, "token review: the webhook's answer: "},
		{"hangs", func(_ http.ResponseWriter, r *http.Request, _ *authenticationv1.TokenReview) { <-r.Context().Done() }, 1, "context deadline exceeded"},
		{"hangs up", func(http.ResponseWriter, *http.Request, *authenticationv1.TokenReview) { panic(http.ErrAbortHandler) }, hooks.MaxAttempts, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newReviewer(t)
			s.Timeout = 2 * time.Second
			if c.name == "hangs" {
				s.Timeout = 100 * time.Millisecond
			}
			s.answers(c.answer)
			id, ok, err := s.AuthenticateToken(t.Context(), "secret-token")
			if ok || id.User != nil || err == nil || !strings.Contains(err.Error(), c.err) {
				t.Fatalf("got %+v, %v, %v", id.User, ok, err)
			}
			if strings.Contains(err.Error(), "secret-token") {
				t.Errorf("the error holds the token: %v", err)
			}
			if got := s.asked.Load(); got != c.asked {
				t.Errorf("asked %d times", got)
			}
		})
	}
	t.Run("comes back", func(t *testing.T) {
		s := newReviewer(t)
		s.answers(func(w http.ResponseWriter, _ *http.Request, review *authenticationv1.TokenReview) {
			if s.asked.Load() < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "jane"}}
			_ = json.NewEncoder(w).Encode(review)
		})
		if _, ok, err := s.AuthenticateToken(t.Context(), "t"); !ok || err != nil {
			t.Errorf("got %v, %v", ok, err)
		}
	})
}

func TestCached(t *testing.T) {
	s := newReviewer(t)
	s.says(authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "jane"}})
	clock := time.Now()
	c := newTokenCache(s, TokenTTLs{Success: time.Minute, Failure: time.Second}, nil, func() time.Time { return clock })
	ask := func(ctx context.Context, token string, want bool, asked int32) {
		t.Helper()
		_, ok, err := c.AuthenticateToken(ctx, token)
		if ok != want || err != nil || s.asked.Load() != asked {
			t.Errorf("got %v, %v after %d questions, want %v after %d", ok, err, s.asked.Load(), want, asked)
		}
	}
	ask(t.Context(), "a", true, 1)
	ask(t.Context(), "a", true, 1)
	ask(t.Context(), "b", true, 2)
	ask(withAudiences(t.Context(), []string{"api"}), "a", true, 3)
	clock = clock.Add(time.Minute + 1)
	ask(t.Context(), "a", true, 4)
	s.says(authenticationv1.TokenReviewStatus{})
	ask(t.Context(), "c", false, 5)
	clock = clock.Add(time.Second)
	ask(t.Context(), "c", false, 5)
	clock = clock.Add(1)
	ask(t.Context(), "c", false, 6)
	ask(t.Context(), "a", true, 6)
	c.ttl.Failure = 0
	ask(t.Context(), "d", false, 7)
	ask(t.Context(), "d", false, 8)
	s.says(authenticationv1.TokenReviewStatus{Error: "out of order"})
	c.ttl.Failure = time.Minute
	for asked := int32(9); asked < 11; asked++ { // an error is not cached
		if _, ok, err := c.AuthenticateToken(t.Context(), "e"); ok || err == nil || s.asked.Load() != asked {
			t.Errorf("got %v, %v after %d questions, want an error after %d", ok, err, s.asked.Load(), asked)
		}
	}
	if _, ok := NewTokenCache(s, TokenTTLs{}, nil).(*reviewerServer); !ok {
		t.Error("0 does not turn it off")
	}
}

// slow is a kind of token whose authentication blocks.
type slow struct {
	asked   atomic.Int32
	release chan struct{}
	err     error
}

func (s *slow) AuthenticateToken(ctx context.Context, _ string) (Identity, bool, error) {
	s.asked.Add(1)
	select {
	case <-s.release:
		return Identity{User: &request.User{Name: "jane"}}, s.err == nil, s.err
	case <-ctx.Done():
		return Identity{}, false, ctx.Err()
	}
}

// TestCachedAsksOnce checks that requests with one token share one authentication, whatever it
// results in, also if the request that began it ends.
func TestCachedAsksOnce(t *testing.T) {
	for _, want := range []error{nil, errors.New("unreachable")} {
		s := &slow{release: make(chan struct{}), err: want}
		reg := prometheus.NewRegistry()
		counts, err := NewTokenMetrics(reg)
		if err != nil {
			t.Fatal(err)
		}
		c := NewTokenCache(s, TokenTTLs{Success: time.Minute}, counts)
		results := make(chan error)
		ask := func(ctx context.Context) {
			_, ok, err := c.AuthenticateToken(ctx, "t")
			if ok != (err == nil) {
				t.Errorf("got %v with error %v", ok, err)
			}
			results <- err
		}
		first, end := context.WithCancel(t.Context())
		go ask(first)
		for s.asked.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		end()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := c.AuthenticateToken(gone, "t"); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that ended waits: %v", err)
		}
		const waiting = 10
		for range waiting {
			go ask(t.Context())
		}
		for blocked := 0.0; blocked <= waiting; time.Sleep(time.Millisecond) {
			series, err := seriestest.Read(reg)
			if err != nil {
				t.Fatal(err)
			}
			blocked = series[`authentication_token_cache_active_fetch_count{status="blocked"}`]
		}
		close(s.release)
		for range waiting + 1 {
			if err := <-results; !errors.Is(err, want) {
				t.Errorf("got error %v, want %v", err, want)
			}
		}
		if s.asked.Load() != 1 {
			t.Errorf("asked %d times", s.asked.Load())
		}
	}
}

// TestTokenCacheOfMovedClock checks that a cached result from before a move of the clock is not used.
func TestTokenCacheOfMovedClock(t *testing.T) {
	s := newReviewer(t)
	s.says(authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "jane"}})
	moves := uint64(0)
	c := NewTokenCache(s, TokenTTLs{Success: time.Hour, Failure: time.Hour, Moves: func() uint64 { return moves }}, nil)
	check := func(want bool) {
		t.Helper()
		if _, ok, err := c.AuthenticateToken(t.Context(), "token"); err != nil || ok != want {
			t.Errorf("the token is valid: %v, %v", ok, err)
		}
	}
	check(true)
	s.says(authenticationv1.TokenReviewStatus{})
	check(true)
	moves++
	check(false)
}
