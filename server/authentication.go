package server

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Authentication configures the authentication of users. Its zero value accepts
// client certificates of the server's own CA, and tokens of service accounts that
// the server signs itself. Each field is a flag, which its comment names.
type Authentication struct {
	// Audiences (--api-audiences) are the names that tokens must be meant for;
	// empty means the issuers of service accounts.
	Audiences []string

	// Issuers (--service-account-issuer): the first is what tokens say issued
	// them, all are believed; empty means
	// https://kubernetes.default.svc.cluster.local.
	Issuers []string
	// KeyFiles (--service-account-key-file) check tokens of service accounts, and
	// SigningKeyFile (--service-account-signing-key-file) signs them; without it
	// the server makes and keeps a key of its own.
	KeyFiles       []string
	SigningKeyFile string
	// JWKSURI (--service-account-jwks-uri) is where others find the public keys;
	// empty means at this server.
	JWKSURI string
	// NoLookup (--service-account-lookup=false) believes tokens in Secrets that
	// are no longer there.
	NoLookup bool
	// MaxTokenExpiration (--service-account-max-token-expiration) bounds how long
	// tokens are good; 0 means as long as is asked for.
	MaxTokenExpiration time.Duration
	// NoExtension (--service-account-extend-token-expiration=false) has tokens
	// of pods end when they should have been renewed.
	NoExtension bool

	// BootstrapTokens (--enable-bootstrap-token-auth) accepts the Secrets of type
	// bootstrap.kubernetes.io/token in kube-system, by which nodes join, as bearer
	// tokens.
	BootstrapTokens bool

	// ConfigFile (--authentication-config) is an AuthenticationConfiguration,
	// read again when it changes; OIDC is what there was before it.
	ConfigFile string
	OIDC       OIDC

	// WebhookFile (--authentication-token-webhook-config-file) is a kubeconfig of
	// a server that knows tokens, WebhookVersion
	// (--authentication-token-webhook-version) that of the TokenReviews that it
	// is sent, v1beta1 or v1, and WebhookTTL
	// (--authentication-token-webhook-cache-ttl) how long answers are remembered.
	WebhookFile, WebhookVersion string
	WebhookTTL                  time.Duration

	// ProxyCAFile and the names (--requestheader-client-ca-file,
	// --requestheader-allowed-names) tell the authenticating proxies that are
	// believed what they say in the headers (--requestheader-username-headers,
	// --requestheader-uid-headers, --requestheader-group-headers,
	// --requestheader-extra-headers-prefix).
	ProxyCAFile                                                                     string
	ProxyNames, ProxyUserHeaders, ProxyUIDHeaders, ProxyGroupHeaders, ProxyPrefixes []string
}

// defaultIssuer is what kubeadm calls a cluster's service accounts issuer.
const defaultIssuer = "https://kubernetes.default.svc.cluster.local"

func (a Authentication) issuers() []string {
	if len(a.Issuers) == 0 {
		return []string{defaultIssuer}
	}
	return a.Issuers
}

func (a Authentication) audiences() []string {
	if len(a.Audiences) == 0 {
		return a.issuers()
	}
	return a.Audiences
}

// validate says what is wrong with the flags, apart from the files they name.
func (a Authentication) validate() []error {
	var errs []error
	fault := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--"+flag+": "+format, args...))
	}
	seen := map[string]bool{}
	for _, issuer := range a.Issuers {
		if issuer == "" {
			fault("service-account-issuer", "must not be empty")
		} else if err := validIssuer(issuer); err != nil {
			fault("service-account-issuer", "%w", err)
		}
		if seen[issuer] {
			fault("service-account-issuer", "%q is given twice", issuer)
		}
		seen[issuer] = true
	}
	const hour = time.Hour
	if a.MaxTokenExpiration != 0 && (a.MaxTokenExpiration < hour || a.MaxTokenExpiration > time.Duration(1<<32)*time.Second) {
		fault("service-account-max-token-expiration", "%v is not between 1h0m0s and %v", a.MaxTokenExpiration, time.Duration(1<<32)*time.Second)
	}
	if a.JWKSURI != "" {
		if u, err := url.Parse(a.JWKSURI); err != nil || u.Scheme != "https" {
			fault("service-account-jwks-uri", "%q is no https URL", a.JWKSURI)
		}
	}
	if a.ProxyCAFile == "" && len(a.ProxyUserHeaders) > 0 {
		fault("requestheader-client-ca-file", "must be given where --requestheader-username-headers are: whoever wants could else say who he is")
	}
	if a.ProxyCAFile != "" && len(a.ProxyUserHeaders) == 0 {
		fault("requestheader-username-headers", "must be given together with --requestheader-client-ca-file")
	}
	for _, headers := range []struct {
		flag  string
		names []string
	}{
		{"requestheader-username-headers", a.ProxyUserHeaders}, {"requestheader-uid-headers", a.ProxyUIDHeaders},
		{"requestheader-group-headers", a.ProxyGroupHeaders}, {"requestheader-extra-headers-prefix", a.ProxyPrefixes},
	} {
		for _, name := range headers.names {
			if strings.TrimSpace(name) == "" {
				fault(headers.flag, "empty value in %q", headers.names)
				break
			}
		}
	}
	return append(errs, a.validateOthers()...)
}

// validIssuer: what looks like a URL must be one.
func validIssuer(issuer string) error {
	if !strings.Contains(issuer, ":") {
		return nil
	}
	if _, err := url.Parse(issuer); err != nil {
		return errors.New("contained a ':' but was not a valid URL: " + err.Error())
	}
	return nil
}
