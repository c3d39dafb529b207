package authn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// claimResolver resolves a distributed claim (OpenID Connect Core 1.0, section 5.6.2): a verified
// token names an endpoint with a JSON web token that has the claim, and that the keys of its own
// issuer verify.
type claimResolver struct {
	claim  string
	client *http.Client
	// newVerifier discovers the keys of an issuer.
	newVerifier func(ctx context.Context, issuer string) (*oidc.IDTokenVerifier, error)
	audiences   []string
	now         func() time.Time

	mu      sync.Mutex
	issuers map[string]*claimIssuer
}

// claimIssuer is an issuer of distributed claims.
type claimIssuer struct {
	// discovering is held while the keys are looked for. It guards the other fields.
	discovering chan struct{}
	verifier    *oidc.IDTokenVerifier
	err         error // of the last attempt
	retry       time.Time
}

// maxClaimIssuers is the maximum number of issuers of a distributed claim. The endpoints that a
// configured issuer names have few.
const maxClaimIssuers = 32

// claimSource is a source of claims: an endpoint, or a token in place, which is an aggregated
// claim and not resolved.
type claimSource struct {
	URL         string `json:"endpoint"`
	AccessToken string `json:"access_token"`
}

// expand adds the claim to c if c names a source of it. The library has checked that all sources
// exist.
func (r *claimResolver) expand(ctx context.Context, c claims) error {
	names, ok := c["_claim_names"]
	if _, isThere := c[r.claim]; isThere || !ok {
		return nil
	}
	var sourceOf map[string]string
	if err := json.Unmarshal(names, &sourceOf); err != nil {
		return fmt.Errorf("oidc: error parsing distributed claim names: %w", err)
	}
	name, ok := sourceOf[r.claim]
	if !ok {
		return nil
	}
	var sources map[string]claimSource
	if err := c.read("_claim_sources", &sources); err != nil {
		return fmt.Errorf("oidc: could not parse claim sources: %w", err)
	}
	source, ok := sources[name]
	switch {
	case !ok:
		return fmt.Errorf("id token _claim_names contained a source %s missing in _claims_sources", name)
	case source.URL == "":
		return nil
	}
	value, err := r.resolve(ctx, &source)
	if err != nil {
		return err
	}
	c[r.claim] = value
	return nil
}

// resolve returns the value of the claim from a source.
func (r *claimResolver) resolve(ctx context.Context, source *claimSource) (json.RawMessage, error) {
	token, err := r.fetch(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("while getting distributed claim %q: %w", r.claim, err)
	}
	issuer, ok := claimedIssuer(token)
	if !ok {
		return nil, fmt.Errorf("getting untrusted issuer from endpoint %v failed for claim %q: the response is no JSON web token",
			redacted(source.URL), r.claim)
	}
	verifier, err := r.verifierOf(ctx, issuer)
	if err != nil {
		return nil, fmt.Errorf("verifying untrusted issuer %v failed: %w", redacted(issuer), err)
	}
	verified, err := verifier.Verify(ctx, token)
	if err == nil && len(intersect(r.audiences, verified.Audience)) == 0 {
		err = fmt.Errorf("oidc: expected audience in %q got %q", r.audiences, verified.Audience)
	}
	if err != nil {
		return nil, fmt.Errorf("verify distributed claim token: %w", err)
	}
	distributed := claims{}
	if err := verified.Claims(&distributed); err != nil {
		return nil, fmt.Errorf("could not parse distributed claims for claim %v: %w", r.claim, err)
	}
	value, ok := distributed[r.claim]
	if !ok {
		return nil, fmt.Errorf("jwt returned by distributed claim endpoint %q did not contain claim: %v", redacted(source.URL), r.claim)
	}
	return value, nil
}

// fetch requests the token of a source.
func (r *claimResolver) fetch(ctx context.Context, source *claimSource) (string, error) {
	if err := requireHTTPS(source.URL); err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source.URL, nil)
	if err != nil {
		return "", err
	}
	if source.AccessToken != "" {
		req.Header.Set("Authorization", "Bearer "+source.AccessToken)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK || resp.StatusCode > http.StatusIMUsed {
		return "", fmt.Errorf("error while getting distributed claim JWT: %v", resp.Status)
	}
	data, err := outbound.ReadAll(resp.Body, maxIssuerDocument)
	if err != nil {
		return "", fmt.Errorf("could not decode distributed claim response: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// verifierOf returns the verifier of an issuer's tokens. The first request for an issuer discovers
// its keys, and others wait for it.
func (r *claimResolver) verifierOf(ctx context.Context, issuer string) (*oidc.IDTokenVerifier, error) {
	if err := requireHTTPS(issuer); err != nil {
		return nil, err
	}
	r.mu.Lock()
	i := r.issuers[issuer]
	if i == nil && len(r.issuers) < maxClaimIssuers {
		i = &claimIssuer{discovering: make(chan struct{}, 1)}
		r.issuers[issuer] = i
	}
	r.mu.Unlock()
	if i == nil {
		return nil, fmt.Errorf("there are more than %d issuers of the claim", maxClaimIssuers)
	}
	select {
	case i.discovering <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-i.discovering }()
	if i.verifier != nil || i.err != nil && r.now().Before(i.retry) {
		return i.verifier, i.err
	}
	if i.verifier, i.err = r.newVerifier(ctx, issuer); i.err != nil {
		i.retry = r.now().Add(maxDiscoveryInterval)
		if ctx.Err() != nil {
			i.retry = time.Time{} // the end of one request says nothing about the issuer
		}
	}
	return i.verifier, i.err
}

// maxDiscoveryError is the maximum length of an error of discovery, which contains the response.
const maxDiscoveryError = 200

// newClaimResolver returns the resolver of the groups claim; nil if there is none. The keys of
// issuers are fetched until lifetime ends.
func (o *oidcTokens) newClaimResolver(lifetime context.Context) *claimResolver {
	claim := o.config.ClaimMappings.Groups.Claim
	if claim == "" {
		return nil
	}
	return &claimResolver{
		claim: claim, client: o.client, audiences: o.config.Issuer.Audiences, now: time.Now, issuers: map[string]*claimIssuer{},
		newVerifier: func(ctx context.Context, issuer string) (*oidc.IDTokenVerifier, error) {
			provider, err := oidc.NewProvider(oidc.ClientContext(ctx, o.client), issuer)
			if err != nil {
				text := err.Error()
				return nil, errors.New(strings.ToValidUTF8(text[:min(len(text), maxDiscoveryError)], ""))
			}
			return provider.VerifierContext(oidc.ClientContext(lifetime, o.client), o.verifierConfig()), nil
		},
	}
}

// requireHTTPS returns an error unless text is an https URL: the request carries a credential, and
// the response decides about permissions.
func requireHTTPS(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return errors.New("not an https URL")
	}
	return nil
}

// redacted returns a URL without credentials and query.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(malformed URL)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
