package authn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/request"
)

// safeAlgorithms are the asymmetric signing algorithms accepted in tokens of other issuers.
var safeAlgorithms = []string{
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.RS256, oidc.RS384, oidc.RS512,
}

// SafeAlgorithms returns the names of the signing algorithms accepted in tokens of other issuers.
func SafeAlgorithms() []string { return slices.Clone(safeAlgorithms) }

// WithAlgorithms returns j with its accepted signing algorithms set.
func (j JWT) WithAlgorithms(algorithms []string) JWT {
	j.algorithms = algorithms
	return j
}

// oidcTokens authenticates the tokens of one OpenID Connect issuer. The issuer's keys are
// discovered in the background, so the issuer need not be reachable when the server starts.
type oidcTokens struct {
	config JWT
	rules  jwtRules
	now    func() time.Time // by which tokens expire; nil means time.Now
	client *http.Client
	// keys records the fetches of keys by client.
	keys   *measuredKeys
	logger *slog.Logger
	// verifier is nil until discovery succeeds.
	verifier atomic.Pointer[oidc.IDTokenVerifier]
	// resolver resolves the groups claim if it is distributed; nil like verifier, and if there is no
	// such claim.
	resolver atomic.Pointer[claimResolver]
}

func newOIDCTokens(config JWT, r jwtRules, guard outbound.Guard, metrics *JWTMetrics, logger *slog.Logger) (*oidcTokens, error) {
	o := &oidcTokens{config: config, rules: r, logger: logger}
	var roots *x509.CertPool
	if ca := config.Issuer.CertificateAuthority; ca != "" {
		certs, err := ParseCertificates([]byte(ca))
		if err != nil {
			return nil, err
		}
		roots = x509.NewCertPool()
		for _, c := range certs {
			roots.AddCert(c)
		}
	}
	var transport http.RoundTripper = outbound.Transport(outbound.Config{TLS: &tls.Config{RootCAs: roots},
		HTTP2: true, UseProxy: true, Guard: guard})
	if d := config.Issuer.DiscoveryURL; d != "" {
		at, err := url.Parse(d)
		if err != nil {
			return nil, err
		}
		transport = discoveryRedirect{transport, strings.TrimSuffix(config.Issuer.URL, "/") + discoveryPath, at}
	}
	o.keys = &measuredKeys{RoundTripper: limitedResponses{transport}, metrics: metrics, issuer: config.Issuer.URL}
	o.client = outbound.Client(o.keys)
	o.client.Timeout, o.client.CheckRedirect = 30*time.Second, sameOriginRedirect
	return o, nil
}

const maxRedirects = 10

const discoveryPath = "/.well-known/openid-configuration"

// sameOriginRedirect is a CheckRedirect that rejects redirects to another scheme or host.
func sameOriginRedirect(to *http.Request, via []*http.Request) error {
	if from := via[0].URL; to.URL.Scheme != from.Scheme || to.URL.Host != from.Host || len(via) >= maxRedirects {
		return fmt.Errorf("redirect to %s is not allowed", to.URL.Redacted())
	}
	return nil
}

// discoveryRedirect is a transport that requests the discovery document from the configured
// discovery URL.
type discoveryRedirect struct {
	http.RoundTripper
	document string
	at       *url.URL
}

// RoundTrip implements http.RoundTripper.
func (e discoveryRedirect) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && r.URL.String() == e.document {
		r = r.Clone(r.Context())
		r.Host, r.URL = "", e.at
	}
	return e.RoundTripper.RoundTrip(r)
}

// Retry intervals of issuer discovery.
const (
	minDiscoveryInterval = 500 * time.Millisecond
	maxDiscoveryInterval = 10 * time.Second
)

// discover discovers the issuer and retries until ctx is done. The verifier uses ctx to fetch keys
// later.
func (o *oidcTokens) discover(ctx context.Context) {
	for wait := minDiscoveryInterval; ; wait = min(2*wait, maxDiscoveryInterval) {
		err := o.discoverOnce(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			o.logger.Warn("failed to discover token issuer", "issuer", o.config.Issuer.URL, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (o *oidcTokens) discoverOnce(ctx context.Context) error {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, o.client), o.config.Issuer.URL)
	if err != nil {
		return err
	}
	var document struct {
		JWKSURI string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return err
	}
	o.keys.url.Store(&document.JWKSURI)
	o.resolver.Store(o.newClaimResolver(ctx))
	o.verifier.Store(provider.VerifierContext(oidc.ClientContext(ctx, o.client), o.verifierConfig()))
	return nil
}

// verifierConfig returns the checks of the library. It checks only a single client ID; the callers
// check the audiences.
func (o *oidcTokens) verifierConfig() *oidc.Config {
	algorithms := o.config.algorithms
	if algorithms == nil {
		algorithms = safeAlgorithms
	}
	return &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: algorithms, Now: o.now}
}

// claims are the raw claims of a token.
type claims map[string]json.RawMessage

func (c claims) read(name string, into any) error {
	value, ok := c[name]
	if !ok {
		return errors.New("claim not present")
	}
	return json.Unmarshal(value, into)
}

// AuthenticateToken implements Token.
func (o *oidcTokens) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	if issuer, ok := claimedIssuer(token); !ok || issuer != o.config.Issuer.URL {
		return Identity{}, false, nil
	}
	start := time.Now()
	id, err := o.authenticate(ctx, token)
	o.keys.metrics.authenticated(o.config.Issuer.URL, time.Since(start), err)
	return id, err == nil, err
}

// authenticate authenticates a token that claims to be of the issuer.
func (o *oidcTokens) authenticate(ctx context.Context, token string) (Identity, error) {
	verifier := o.verifier.Load()
	if verifier == nil {
		return Identity{}, errors.New("oidc: authenticator not initialized")
	}
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		return Identity{}, fmt.Errorf("oidc: verify token: %w", err)
	}
	if len(intersect(o.config.Issuer.Audiences, verified.Audience)) == 0 {
		return Identity{}, fmt.Errorf("oidc: verify token: oidc: expected audience in %q got %q",
			slices.Sorted(slices.Values(o.config.Issuer.Audiences)), verified.Audience)
	}
	c := claims{}
	if err := verified.Claims(&c); err != nil {
		return Identity{}, fmt.Errorf("oidc: parse claims: %w", err)
	}
	if resolver := o.resolver.Load(); resolver != nil {
		if err := resolver.expand(ctx, c); err != nil {
			return Identity{}, fmt.Errorf("oidc: could not expand distributed claims: %w", err)
		}
	}
	user, err := o.user(c)
	if err != nil {
		return Identity{}, fmt.Errorf("oidc: %w", err)
	}
	return Identity{Method: "OpenID Connect", User: user}, nil
}

// user maps the claims to a user.
func (o *oidcTokens) user(c claims) (*request.User, error) {
	values, err := o.values(c)
	if err != nil {
		return nil, err
	}
	u := &request.User{}
	if u.Name, err = o.username(c, values); err != nil {
		return nil, err
	}
	if u.Groups, err = o.groups(c, values); err != nil {
		return nil, err
	}
	if u.UID, err = o.uid(c, values); err != nil {
		return nil, err
	}
	if u.Extra, err = o.extra(c, values); err != nil {
		return nil, err
	}
	if err := o.checkRequiredClaims(c); err != nil {
		return nil, err
	}
	if err := checkRules(o.rules.claims, "claims", values); err != nil {
		return nil, fmt.Errorf("error evaluating claim validation expression: %w", err)
	}
	if err := checkRules(o.rules.user, "user", celUser(u)); err != nil {
		return nil, fmt.Errorf("error evaluating user info validation rule: %w", err)
	}
	return u, nil
}

// values decodes the claims for CEL expressions. It returns nil if no expression uses them.
func (o *oidcTokens) values(c claims) (map[string]any, error) {
	r := &o.rules
	if r.username == nil && r.groups == nil && r.uid == nil && len(r.extra) == 0 && len(r.claims) == 0 {
		return nil, nil
	}
	out := make(map[string]any, len(c))
	for name, raw := range c {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, fmt.Errorf("parse claim %s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

// checkRules returns an error for the first rule that is not true.
func checkRules(rules []ruleExpression, variable string, v any) error {
	for _, r := range rules {
		ok, err := r.holds(variable, v)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("validation expression '%s' failed: %s", r.text, r.message)
		}
	}
	return nil
}

// emailClaim may be the user name only if the claim email_verified is not false.
const emailClaim = "email"

func (o *oidcTokens) username(c claims, values map[string]any) (string, error) {
	m := &o.config.ClaimMappings.Username
	if o.rules.username != nil {
		name, err := o.rules.username.evalString(values)
		switch {
		case err != nil:
			return "", fmt.Errorf("error evaluating username claim expression: %w", err)
		case name == "":
			return "", errors.New("empty username via CEL expression is not allowed")
		}
		return name, nil
	}
	var name string
	if err := c.read(m.Claim, &name); err != nil {
		return "", fmt.Errorf("parse username claims %q: %w", m.Claim, err)
	}
	if _, ok := c["email_verified"]; ok && m.Claim == emailClaim {
		verified := false
		if err := c.read("email_verified", &verified); err != nil {
			return "", fmt.Errorf("parse 'email_verified' claim: %w", err)
		}
		if !verified {
			return "", errors.New("email not verified")
		}
	}
	return m.prefix() + name, nil
}

func (m *PrefixedMapping) prefix() string {
	if m.Prefix == nil {
		return ""
	}
	return *m.Prefix
}

func (o *oidcTokens) groups(c claims, values map[string]any) ([]string, error) {
	m := &o.config.ClaimMappings.Groups
	if o.rules.groups != nil {
		v, err := o.rules.groups.value("claims", values)
		if err == nil {
			var groups []string
			if groups, err = stringList(v); err == nil {
				return groups, nil
			}
		}
		return nil, fmt.Errorf("error evaluating group claim expression: %w", err)
	}
	raw, ok := c[m.Claim]
	if m.Claim == "" || !ok {
		return nil, nil
	}
	var groups []string
	if json.Unmarshal(raw, &groups) != nil {
		var one string // some issuers send a single role
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, fmt.Errorf("parse groups claim %q: %w", m.Claim, err)
		}
		groups = []string{one}
	}
	for i := range groups {
		groups[i] = m.prefix() + groups[i]
	}
	return groups, nil
}

func (o *oidcTokens) uid(c claims, values map[string]any) (string, error) {
	if o.rules.uid != nil {
		uid, err := o.rules.uid.evalString(values)
		if err != nil {
			return "", fmt.Errorf("error evaluating uid claim expression: %w", err)
		}
		return uid, nil
	}
	claim := o.config.ClaimMappings.UID.Claim
	if claim == "" {
		return "", nil
	}
	var uid string
	if err := c.read(claim, &uid); err != nil {
		return "", fmt.Errorf("parse uid claim %q: %w", claim, err)
	}
	return uid, nil
}

func (o *oidcTokens) extra(c claims, values map[string]any) (map[string][]string, error) {
	extra := map[string][]string{}
	var id string
	if c.read("jti", &id) == nil && id != "" {
		extra[extraCredentialID] = []string{"JTI=" + id}
	}
	for _, x := range o.rules.extra {
		v, err := x.value("claims", values)
		if err != nil {
			return nil, err
		}
		list, err := stringList(v)
		if err != nil {
			return nil, fmt.Errorf("error evaluating extra claim expression: %s: %w", x.text, err)
		}
		if len(list) > 0 {
			extra[x.key] = list
		}
	}
	if len(extra) == 0 {
		return nil, nil
	}
	return extra, nil
}

// checkRequiredClaims checks the claims that must have a configured value.
func (o *oidcTokens) checkRequiredClaims(c claims) error {
	for _, rule := range o.config.ClaimRules {
		if rule.Claim == "" {
			continue
		}
		if _, ok := c[rule.Claim]; !ok {
			return fmt.Errorf("required claim %s not present in ID token", rule.Claim)
		}
		var value string
		if err := c.read(rule.Claim, &value); err != nil {
			return fmt.Errorf("parse claim %s: %w", rule.Claim, err)
		}
		if value != rule.RequiredValue {
			return fmt.Errorf("required claim %s value does not match. Got = %s, want = %s", rule.Claim, value, rule.RequiredValue)
		}
	}
	return nil
}
