package server

import (
	"fmt"
	"maps"
	"slices"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/internal/clock"
	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// externalTokens are the tokens of other issuers.
type externalTokens struct {
	tokens authn.Tokens
	// issuers finds the keys of OpenID Connect issuers while it runs; nil if there
	// are none.
	issuers *authn.JWTIssuers
	// anonymous configures requests without a credential, if a configuration file
	// does.
	anonymous *authn.AnonymousConfig
}

// newExternalTokens returns the authenticators of tokens of other issuers: those in an
// AuthenticationConfiguration, or in the flags with the same meaning, and a webhook.
func newExternalTokens(o *Options, counts *authn.TokenMetrics, jwt *authn.JWTMetrics, dial webhookDial,
	guard outbound.Guard, gates features.Gates, now *clock.Clock) (e externalTokens, err error) {
	a := &o.Authentication
	config, data, err := a.config()
	if err != nil {
		return e, err
	}
	if config != nil {
		refuse := authn.Restrictions{
			Guard:   guard,
			Issuers: a.Issuers, NoEgressSelectors: !gates.Enabled(features.StructuredAuthenticationConfigurationEgressSelector),
		}
		e.issuers, err = authn.NewJWTIssuers(config, a.ConfigFile, data, refuse, jwt, o.Logger)
		if err != nil && a.ConfigFile != "" {
			return e, fileError("authentication-config", a.ConfigFile, err)
		}
		if err != nil {
			return e, fmt.Errorf("--oidc-issuer-url: %w", err)
		}
		e.issuers.WithClock(now.Now)
		e.anonymous = config.Anonymous
		e.tokens = append(e.tokens, authn.NewTokenCache(authn.ForServer(a.audiences(), e.issuers),
			authn.TokenTTLs{Success: authn.DefaultTokenTTL, Moves: now.Moves}, counts))
	}
	if a.WebhookFile != "" {
		client, url, err := dial(a.WebhookFile)
		if err != nil {
			return e, fileError("authentication-token-webhook-config-file", a.WebhookFile, err)
		}
		webhook := &authn.Webhook{Client: client, URL: url, V1beta1: a.WebhookVersion != "v1", Audiences: a.audiences()}
		e.tokens = append(e.tokens, authn.NewTokenCache(webhook,
			authn.TokenTTLs{Success: a.WebhookTTL, Failure: a.WebhookTTL, Moves: now.Moves}, counts))
	}
	return e, nil
}

// config returns the AuthenticationConfiguration in the file, or one with the
// meaning of the --oidc-* flags; nil if neither is set.
func (a Authentication) config() (*authn.Config, []byte, error) {
	if a.ConfigFile != "" {
		c, data, err := authn.ReadConfig(a.ConfigFile)
		if err != nil {
			return nil, nil, fileError("authentication-config", a.ConfigFile, err)
		}
		return c, data, nil
	}
	if a.OIDC.IssuerURL == "" {
		return nil, nil, nil
	}
	jwt, err := a.OIDC.jwt()
	if err != nil {
		return nil, nil, fileError("oidc-ca-file", a.OIDC.CAFile, err)
	}
	return &authn.Config{JWT: []authn.JWT{jwt}}, nil, nil
}

// jwt returns the JWT authenticator that the flags describe. Defaults are filled in.
func (o OIDC) jwt() (authn.JWT, error) {
	claim, prefix := o.UsernameClaim, o.UsernamePrefix
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
	if o.CAFile != "" {
		ca, err := configfile.Read(o.CAFile)
		if err == nil {
			_, err = authn.ParseCertificates(ca)
		}
		if err != nil {
			return j, err
		}
		j.Issuer.CertificateAuthority = string(ca)
	}
	return j.WithAlgorithms(o.Algorithms), nil
}
