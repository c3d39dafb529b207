package server

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/authn"
)

// otherTokens are the kinds of tokens that others issue or know: those of an
// AuthenticationConfiguration, or of flags that mean the same, and those of a
// webhook.
func (s *Server) otherTokens(id *identities, counts *authn.TokenMetrics) (authn.Tokens, error) {
	o, a := &s.o, &s.o.Authentication
	var tokens authn.Tokens
	config, data, err := a.config()
	if err != nil {
		return nil, err
	}
	if config != nil {
		flag := "--oidc-issuer-url"
		if a.ConfigFile != "" {
			flag = "--authentication-config"
		}
		others, err := authn.NewOtherIssuers(config, a.ConfigFile, data, a.issuers(), o.Logger)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		id.anonymous = config.Anonymous
		s.keep("finding issuers", func() { others.Run(s.lifetime) })
		tokens = append(tokens, authn.Cached(authn.ForServer(a.audiences(), others), authn.UsualTTL, counts))
	}
	if a.WebhookFile != "" {
		client, url, err := webhookDialer(s.hooked)(a.WebhookFile)
		if err != nil {
			return nil, fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
		}
		webhook := &authn.Webhook{Client: client, URL: url, V1beta1: a.WebhookVersion != "v1", Audiences: a.audiences()}
		tokens = append(tokens, authn.Cached(webhook, a.WebhookTTL, counts))
	}
	return tokens, nil
}

// config is the AuthenticationConfiguration of the file, or one that means what
// the flags say; nil if there is neither.
func (a Authentication) config() (*authn.Config, []byte, error) {
	if a.ConfigFile != "" {
		c, data, err := authn.ReadConfig(a.ConfigFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--authentication-config: %w", err)
		}
		return c, data, nil
	}
	if a.OIDC.IssuerURL == "" {
		return nil, nil, nil
	}
	jwt, err := a.OIDC.jwt()
	if err != nil {
		return nil, nil, fmt.Errorf("--oidc-ca-file: %w", err)
	}
	return &authn.Config{JWT: []authn.JWT{jwt}}, nil, nil
}

// OIDC is one issuer of tokens, by the flags that begin with --oidc-.
type OIDC struct {
	// IssuerURL and ClientID (--oidc-issuer-url, --oidc-client-id) are who issues
	// tokens, and for whom they must be meant.
	IssuerURL, ClientID string
	// CAFile (--oidc-ca-file) verifies the issuer; empty means the CAs of the
	// machine.
	CAFile string
	// UsernameClaim and UsernamePrefix (--oidc-username-claim,
	// --oidc-username-prefix) make the user's name; empty means sub, and the
	// issuer unless the claim is email. "-" is no prefix.
	UsernameClaim, UsernamePrefix string
	// GroupsClaim and GroupsPrefix (--oidc-groups-claim, --oidc-groups-prefix)
	// make the user's groups.
	GroupsClaim, GroupsPrefix string
	// RequiredClaims (--oidc-required-claim) are claims that must have a value.
	RequiredClaims map[string]string
	// Algorithms (--oidc-signing-algs) are those by which tokens may be signed;
	// empty means RS256.
	Algorithms []string
}

// jwt is the part of a configuration that means the same.
func (o OIDC) jwt() (authn.JWT, error) {
	claim, prefix := o.UsernameClaim, o.UsernamePrefix
	if claim == "" {
		claim = "sub"
	}
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && claim != "email":
		prefix = o.IssuerURL + "#"
	}
	j := authn.JWT{
		Issuer:        authn.JWTIssuer{URL: o.IssuerURL, Audiences: []string{o.ClientID}},
		ClaimMappings: authn.ClaimMappings{Username: authn.PrefixedMapping{Claim: claim, Prefix: &prefix}},
	}
	if o.GroupsClaim != "" {
		j.ClaimMappings.Groups = authn.PrefixedMapping{Claim: o.GroupsClaim, Prefix: &o.GroupsPrefix}
	}
	for _, name := range slices.Sorted(maps.Keys(o.RequiredClaims)) {
		j.ClaimRules = append(j.ClaimRules, authn.ClaimRule{Claim: name, RequiredValue: o.RequiredClaims[name]})
	}
	algorithms := o.Algorithms
	if len(algorithms) == 0 {
		algorithms = []string{"RS256"}
	}
	if o.CAFile != "" {
		ca, err := os.ReadFile(o.CAFile)
		if err != nil {
			return j, err
		}
		j.Issuer.CertificateAuthority = string(ca)
	}
	return j.SignedBy(algorithms), nil
}

// validateOthers says what is wrong with the flags about others' tokens.
func (a Authentication) validateOthers() []error {
	var errs []error
	o := &a.OIDC
	any := o.IssuerURL != "" || o.ClientID != "" || o.CAFile != "" || o.UsernamePrefix != "" || o.GroupsClaim != "" || o.GroupsPrefix != "" || len(o.RequiredClaims) > 0
	if any && (o.IssuerURL == "" || o.ClientID == "") {
		errs = append(errs, errors.New("--oidc-issuer-url: must be given together with --oidc-client-id when any --oidc-* flags are"))
	}
	for _, algorithm := range o.Algorithms {
		if !slices.Contains(authn.SafeAlgorithms(), algorithm) {
			errs = append(errs, fmt.Errorf("--oidc-signing-algs: %q is none of %s", algorithm, strings.Join(authn.SafeAlgorithms(), ", ")))
		}
	}
	if any && a.ConfigFile != "" {
		errs = append(errs, errors.New("--authentication-config: cannot be together with --oidc-* flags"))
	}
	if v := a.WebhookVersion; v != "" && v != "v1" && v != "v1beta1" {
		errs = append(errs, fmt.Errorf("--authentication-token-webhook-version: %q is neither v1 nor v1beta1", v))
	}
	if a.WebhookTTL < 0 {
		errs = append(errs, fmt.Errorf("--authentication-token-webhook-cache-ttl: %v is below 0", a.WebhookTTL))
	}
	return errs
}
