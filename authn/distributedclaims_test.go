package authn

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// claimEndpoint serves the tokens of distributed claims under the certificate of a provider.
type claimEndpoint struct {
	mu   sync.Mutex
	code int
	body string
	// authorization is that of the last request, and requests their number.
	authorization string
	requests      int
}

func (e *claimEndpoint) serve(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	e.authorization = r.Header.Get("Authorization")
	if e.code == http.StatusFound {
		w.Header().Set("Location", "https://other.example/")
	}
	w.WriteHeader(e.code)
	_, _ = w.Write([]byte(e.body))
}

func (e *claimEndpoint) set(code int, body string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.code, e.body, e.requests, e.authorization = code, body, 0, ""
}

// TestDistributedClaims checks that the groups of a token can come from an endpoint that it names.
func TestDistributedClaims(t *testing.T) {
	p, other := newProvider(t), newProvider(t) // httptest gives both the same certificate
	e := &claimEndpoint{}
	server := httptest.NewTLSServer(http.HandlerFunc(e.serve))
	t.Cleanup(server.Close)
	plain := httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(plain.Close)
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(p.config("  claimMappings:\n    username: {claim: sub, prefix: \"x:\"}\n    groups: {claim: groups, prefix: \"g:\"}\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	o := others(t, path)
	source := func(url string) map[string]any {
		return map[string]any{"_claim_names": map[string]any{"groups": "src"}, "_claim_sources": map[string]any{"src": map[string]any{"endpoint": url, "access_token": "hidden-token"}}}
	}
	with := func(claims map[string]any, name string, value any) map[string]any {
		claims[name] = value
		return claims
	}
	groups := map[string]any{"groups": []string{"a", "b"}}
	for _, tt := range []struct {
		name   string
		claims map[string]any
		code   int
		body   string
		want   []string
		err    string
		calls  int
	}{
		{name: "another issuer", claims: source(server.URL), code: 200, body: other.token(t, groups) + "\n", want: []string{"g:a", "g:b"}, calls: 1},
		{name: "the same issuer", claims: source(server.URL), code: 200, body: p.token(t, map[string]any{"groups": "one"}), want: []string{"g:one"}, calls: 1},
		{name: "a normal claim", claims: with(source(server.URL), "groups", "here"), want: []string{"g:here"}},
		{name: "another claim", claims: with(source(server.URL), "_claim_names", map[string]any{"roles": "src"})},
		{name: "aggregated", claims: map[string]any{"_claim_names": map[string]any{"groups": "src"}, "_claim_sources": map[string]any{"src": map[string]any{"JWT": "x"}}}},
		{name: "malformed names", claims: map[string]any{"_claim_names": "x"}, err: "cannot unmarshal string into Go struct field idToken._claim_names"},
		{name: "no sources", claims: map[string]any{"_claim_names": map[string]any{"groups": "src"}}, err: "source does not exist"},
		{name: "malformed sources", claims: map[string]any{"_claim_names": map[string]any{"groups": "src"}, "_claim_sources": 1}, err: "cannot unmarshal number into Go struct field idToken._claim_sources"},
		{name: "missing source", claims: map[string]any{"_claim_names": map[string]any{"groups": "src"}, "_claim_sources": map[string]any{}}, err: "source does not exist"},
		{name: "plain HTTP", claims: source(plain.URL), code: 200, body: other.token(t, groups), err: `while getting distributed claim "groups": not an https URL`},
		{name: "an error", claims: source(server.URL), code: 500, err: "error while getting distributed claim JWT: 500", calls: 1},
		{name: "a redirect", claims: source(server.URL), code: 302, err: "redirect to https://other.example/ is not allowed", calls: 1},
		{name: "too large", claims: source(server.URL), code: 200, body: strings.Repeat("x", maxIssuerDocument+1), err: "could not decode distributed claim response", calls: 1},
		{name: "no token", claims: source(server.URL + "/?key=hidden-token"), code: 200, body: "hidden-token", err: "the response is no JSON web token", calls: 1},
		{name: "wrong audience", claims: source(server.URL), code: 200, body: other.token(t, map[string]any{"groups": "a", "aud": "x"}), err: "oidc: expected audience in", calls: 1},
		{name: "expired", claims: source(server.URL), code: 200, body: other.token(t, map[string]any{"groups": "a", "exp": 1}), err: "verify distributed claim token: oidc: token is expired", calls: 1},
		{name: "wrong key", claims: source(server.URL), code: 200, body: p.token(t, map[string]any{"groups": "a", "iss": other.URL}), err: "verify distributed claim token: failed to verify", calls: 1},
		{name: "without the claim", claims: source(server.URL), code: 200, body: other.token(t, nil), err: "did not contain claim: groups", calls: 1},
		{name: "an issuer over plain HTTP", claims: source(server.URL), code: 200, body: other.token(t, map[string]any{"groups": "a", "iss": plain.URL}), err: "not an https URL", calls: 1},
		{name: "an issuer that is none", claims: source(server.URL), code: 200, body: other.token(t, map[string]any{"groups": "a", "iss": other.URL + "/x"}), err: "verifying untrusted issuer " + other.URL + "/x failed: 404", calls: 1},
	} {
		e.set(tt.code, tt.body)
		id, ok, err := o.AuthenticateToken(t.Context(), p.token(t, tt.claims))
		switch {
		case tt.err != "":
			if ok || err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "hidden-token") {
				t.Errorf("%s: got %+v, %v, want %s", tt.name, id, err, tt.err)
			}
		case err != nil || !ok || !slices.Equal(id.User.Groups, tt.want):
			t.Errorf("%s: got %+v, %v, want %q", tt.name, id.User, err, tt.want)
		}
		if e.requests != tt.calls || tt.calls > 0 && e.authorization != "Bearer hidden-token" {
			t.Errorf("%s: %d requests with the authorization %q", tt.name, e.requests, e.authorization)
		}
	}
}

// TestDistributedClaimIssuers checks that a failed discovery is repeated after some time, and that
// the number of issuers is bounded.
func TestDistributedClaimIssuers(t *testing.T) {
	p := newProvider(t)
	now := time.Unix(0, 0)
	o := &oidcTokens{client: p.Client(), config: JWT{Issuer: JWTIssuer{Audiences: []string{"app"}}}}
	o.config.ClaimMappings.Groups.Claim = "groups"
	r := o.newClaimResolver(t.Context())
	r.now = func() time.Time { return now }
	p.setDown(true)
	if _, err := r.verifierOf(t.Context(), p.URL); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v", err)
	}
	p.setDown(false)
	if _, err := r.verifierOf(t.Context(), p.URL); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("before the interval has passed: %v", err)
	}
	now = now.Add(maxDiscoveryInterval)
	v, err := r.verifierOf(t.Context(), p.URL)
	if err != nil || v == nil {
		t.Errorf("after the interval: %v", err)
	}
	for i := range maxClaimIssuers + 1 {
		_, err = r.verifierOf(t.Context(), fmt.Sprintf("%s/%d", p.URL, i))
	}
	if err == nil || !strings.Contains(err.Error(), "there are more than 32 issuers") || len(r.issuers) != maxClaimIssuers {
		t.Errorf("%d issuers, %v", len(r.issuers), err)
	}
	if again, err := r.verifierOf(t.Context(), p.URL); err != nil || again != v {
		t.Errorf("a known issuer: %v", err)
	}
	o.config.ClaimMappings.Groups.Claim = ""
	if o.newClaimResolver(t.Context()) != nil {
		t.Error("there is a resolver without a claim of groups")
	}
}
