package authn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"

	"github.com/miniapiserver/miniapiserver/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is an OpenID Connect issuer over TLS with a replaceable key.
type provider struct {
	*httptest.Server
	mu   sync.Mutex
	key  *ecdsa.PrivateKey
	kid  string
	down bool
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	p.rotate(t, "first")
	p.Server = httptest.NewTLSServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case discoveryPath, "/elsewhere":
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"authorization_endpoint":"x","token_endpoint":"x"}`, p.URL, p.URL+"/keys")
	case "/keys":
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.kid, Algorithm: "ES256", Use: "sig"}}})
	default:
		http.NotFound(w, r)
	}
}

// rotate replaces the signing key.
func (p *provider) rotate(t *testing.T, kid string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.kid = key, kid
}

func (p *provider) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *provider) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}))
}

// token signs claims, with defaults for missing ones.
func (p *provider) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	p.mu.Lock()
	key, kid := p.key, p.kid
	p.mu.Unlock()
	return signedBy(t, jose.ES256, key, kid, p.claims(claims))
}

func (p *provider) claims(claims map[string]any) map[string]any {
	all := map[string]any{"iss": p.URL, "aud": "app", "sub": "jane", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	for name, value := range claims {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	return all
}

func signedBy(t *testing.T, algorithm jose.SignatureAlgorithm, key any, kid string, claims any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// config returns an AuthenticationConfiguration with one issuer; more is appended to the issuer's
// YAML, indented by four.
func (p *provider) config(more string) string {
	return "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer:\n    url: " + p.URL +
		"\n    audiences: [app]\n    certificateAuthority: |\n      " + strings.ReplaceAll(strings.TrimSpace(p.ca()), "\n", "\n      ") + "\n" + more
}

const subIsName = "  claimMappings:\n    username: {claim: sub, prefix: \"x:\"}\n"

// others runs the authenticator of a configuration and waits until its issuers are discovered.
func others(t *testing.T, path string) *JWTIssuers {
	t.Helper()
	config, data, err := ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewJWTIssuers(config, path, data, Restrictions{Issuers: []string{testIssuer}}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	runIssuers(t, o)
	o.awaitDiscovery(t.Context(), o.current.Load())
	return o
}

func TestOIDCUser(t *testing.T) {
	p := newProvider(t)
	for _, c := range []struct {
		name, more string
		claims     map[string]any
		want       *request.User
	}{
		{name: "claims", claims: map[string]any{"groups": []string{"a", "b"}, "jti": "7"},
			more: subIsName + "    groups: {claim: groups, prefix: \"g:\"}\n",
			want: &request.User{Name: "x:jane", Groups: []string{"g:a", "g:b"}, Extra: map[string][]string{extraCredentialID: {"JTI=7"}}}},
		{name: "one group", claims: map[string]any{"role": "admin", "uid": "42"}, more: subIsName + "    groups: {claim: role, prefix: \"\"}\n    uid: {claim: uid}\n",
			want: &request.User{Name: "x:jane", Groups: []string{"admin"}, UID: "42"}},
		{name: "no groups", more: subIsName + "    groups: {claim: groups, prefix: \"\"}\n", want: &request.User{Name: "x:jane"}},
		{name: "expressions", claims: map[string]any{"org": "acme", "roles": []string{"a", "", "b"}, "n": 3, "deep": map[string]any{"id": "u"}},
			more: `  claimValidationRules:
  - expression: 'claims.org == "acme" && claims.n == 3'
    message: only acme
  - {claim: org, requiredValue: acme}
  claimMappings:
    username: {expression: 'claims.org + ":" + claims.sub'}
    groups: {expression: 'claims.roles.map(r, "role:" + r)'}
    uid: {expression: claims.deep.id}
    extra:
    - {key: acme.com/org, valueExpression: claims.org}
    - {key: acme.com/none, valueExpression: 'claims.?none.orValue("")'}
  userValidationRules:
  - {expression: '!user.username.startsWith("system:")', message: reserved}
  - {expression: 'user.username.find("^[a-z]+") == "acme" && user.uid == "u"', message: acme}
  - {expression: 'user.groups.all(g, g != "role:root") && user.extra["acme.com/org"][0] == "acme"', message: no root}
`, want: &request.User{Name: "acme:jane", Groups: []string{"role:a", "role:", "role:b"}, UID: "u", Extra: map[string][]string{"acme.com/org": {"acme"}}}},
		{name: "email", claims: map[string]any{"email": "j@x", "email_verified": true}, more: "  claimMappings:\n    username: {claim: email, prefix: \"\"}\n", want: &request.User{Name: "j@x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := others(t, writeFile(t, p.config(c.more)))
			id, ok, err := o.AuthenticateToken(t.Context(), p.token(t, c.claims))
			if !ok || err != nil || !reflect.DeepEqual(id.User, c.want) {
				t.Errorf("got %+v, %v, %v\nwant %+v", id.User, ok, err, c.want)
			}
		})
	}
}

// TestOIDCRefuses checks that invalid tokens of other issuers are rejected.
func TestOIDCRefuses(t *testing.T) {
	p := newProvider(t)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(p.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	o := others(t, writeFile(t, p.config(`  claimValidationRules:
  - {expression: 'claims.?bad.orValue("") != "yes"', message: bad is bad}
  - {claim: hd, requiredValue: acme}
  claimMappings:
    username: {claim: sub, prefix: ""}
  userValidationRules:
  - {expression: '!user.username.startsWith("system:")', message: reserved}
`)))
	good := map[string]any{"hd": "acme"}
	claims := func(more map[string]any) map[string]any {
		all := p.claims(good)
		for name, value := range more {
			all[name] = value
			if value == nil {
				delete(all, name)
			}
		}
		return all
	}
	if _, ok, err := o.AuthenticateToken(t.Context(), p.token(t, good)); !ok || err != nil {
		t.Fatalf("a good token: %v, %v", ok, err)
	}
	for _, c := range []struct{ name, token, want string }{
		{"expired", p.token(t, claims(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})), "token is expired"},
		{"not yet valid", p.token(t, claims(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})), "before the nbf"},
		{"audience", p.token(t, claims(map[string]any{"aud": "other"})), `expected audience in ["app"] got ["other"]`},
		{"issuer", p.token(t, claims(map[string]any{"iss": "https://other"})), ""},
		{"another key", signedBy(t, jose.ES256, stranger, p.kid, claims(nil)), "failed to verify signature"},
		{"unknown kid", signedBy(t, jose.ES256, stranger, "nope", claims(nil)), "failed to verify signature"},
		{"HS256 with the public key", signedBy(t, jose.HS256, der, p.kid, claims(nil)), "oidc: verify token"},
		{"none", "eyJhbGciOiJub25lIn0." + strings.Split(p.token(t, good), ".")[1] + ".", "oidc: verify token"},
		{"no name", signedBy(t, jose.ES256, p.key, p.kid, claims(map[string]any{"sub": nil})), `parse username claims "sub": claim not present`},
		{"required claim", p.token(t, claims(map[string]any{"hd": "evil"})), "required claim hd value does not match. Got = evil, want = acme"},
		{"rule", p.token(t, claims(map[string]any{"bad": "yes"})), "failed: bad is bad"},
		{"user rule", p.token(t, claims(map[string]any{"sub": "system:admin"})), "failed: reserved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, ok, err := o.AuthenticateToken(t.Context(), c.token)
			if ok || id.User != nil {
				t.Fatalf("accepted as %+v", id.User)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if parts := strings.Split(c.token, "."); err != nil && (strings.Contains(err.Error(), c.token) || parts[2] != "" && strings.Contains(err.Error(), parts[2])) {
				t.Error("the error holds the token")
			}
		})
	}
}

func TestOIDCKeysRotate(t *testing.T) {
	p := newProvider(t)
	o := others(t, writeFile(t, p.config(subIsName)))
	old := p.token(t, nil)
	if _, ok, err := o.AuthenticateToken(t.Context(), old); !ok || err != nil {
		t.Fatalf("got %v, %v", ok, err)
	}
	p.rotate(t, "second")
	// A verification that joins a fetch of keys just before it ends may get the old keys.
	deadline := time.Now().Add(time.Minute)
	for {
		_, ok, err := o.AuthenticateToken(t.Context(), p.token(t, nil))
		if ok && err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the new key: %v, %v", ok, err)
		}
	}
	// The fetched keys verify the token that caused the fetch before they replace the old ones.
	for {
		if _, ok, _ := o.AuthenticateToken(t.Context(), old); !ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a token of the key that is gone is still good")
		}
	}
}

// TestOIDCIssuerComesLater checks that the issuer need not be reachable at startup.
func TestOIDCIssuerComesLater(t *testing.T) {
	p := newProvider(t)
	p.setDown(true)
	config, err := parseConfig([]byte(p.config(subIsName)))
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewJWTIssuers(config, "", nil, Restrictions{}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	runIssuers(t, o)
	token := p.token(t, nil)
	if _, ok, err := o.AuthenticateToken(t.Context(), token); ok || err == nil || err.Error() != "oidc: authenticator not initialized" {
		t.Errorf("got %v, %v", ok, err)
	}
	p.setDown(false)
	o.awaitDiscovery(t.Context(), o.current.Load())
	if _, ok, err := o.AuthenticateToken(t.Context(), token); !ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestOIDCDiscoveryURL(t *testing.T) {
	p := newProvider(t)
	config := strings.Replace(p.config(subIsName), "    audiences", "    discoveryURL: "+p.URL+"/elsewhere\n    audiences", 1)
	o := others(t, writeFile(t, config))
	if _, ok, err := o.AuthenticateToken(t.Context(), p.token(t, nil)); !ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

// TestOIDCRedirects checks that only redirects to the issuer itself are followed.
func TestOIDCRedirects(t *testing.T) {
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer other.Close()
	p := newProvider(t)
	for target, want := range map[string]bool{p.URL + "/elsewhere": true, other.URL: false, "http" + strings.TrimPrefix(p.URL, "https"): false} {
		from := httptest.NewRequest(http.MethodGet, p.URL+discoveryPath, nil)
		to := httptest.NewRequest(http.MethodGet, target, nil)
		o, err := newOIDCTokens(JWT{Issuer: JWTIssuer{URL: p.URL}}, jwtRules{}, nil, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.client.CheckRedirect(to, []*http.Request{from}); (err == nil) != want {
			t.Errorf("redirect to %s: %v", target, err)
		}
	}
}

// replaceFile replaces a file by one with other content, in one step.
func replaceFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".next", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
}

func TestOIDCConfigReloads(t *testing.T) {
	p, q := newProvider(t), newProvider(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := func(content string) { t.Helper(); replaceFile(t, path, content) }
	write(p.config(subIsName))
	o := others(t, path)
	good := func(p *provider) bool {
		_, ok, _ := o.AuthenticateToken(t.Context(), p.token(t, nil))
		return ok
	}
	if !good(p) || good(q) {
		t.Fatal("before the change")
	}
	write(q.config(subIsName))
	for deadline := time.Now().Add(10 * time.Second); !good(q); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the change was not seen")
		}
	}
	if good(p) {
		t.Error("an issuer that is gone is still believed")
	}
}
