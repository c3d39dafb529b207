package server

import "time"

// Authentication configures the authentication of users. Its zero value accepts
// client certificates of the server's own CA, and tokens of service accounts that
// the server signs itself. As in Options, comments name the flags.
type Authentication struct {
	NoAnonymous     bool   // --anonymous-auth=false
	ClientCAFile    string // --client-ca-file
	TokenFile       string // --token-auth-file
	BootstrapTokens bool   // --enable-bootstrap-token-auth

	ProxyCAFile       string   // --requestheader-client-ca-file
	ProxyNames        []string // --requestheader-allowed-names
	ProxyUserHeaders  []string // --requestheader-username-headers
	ProxyUIDHeaders   []string // --requestheader-uid-headers
	ProxyGroupHeaders []string // --requestheader-group-headers
	ProxyPrefixes     []string // --requestheader-extra-headers-prefix

	Issuers            []string      // --service-account-issuer
	Audiences          []string      // --api-audiences
	KeyFiles           []string      // --service-account-key-file
	SigningKeyFile     string        // --service-account-signing-key-file
	SigningEndpoint    string        // --service-account-signing-endpoint
	JWKSURI            string        // --service-account-jwks-uri
	NoLookup           bool          // --service-account-lookup=false
	MaxTokenExpiration time.Duration // --service-account-max-token-expiration
	NoExtension        bool          // --service-account-extend-token-expiration=false

	ConfigFile     string // --authentication-config
	OIDC           OIDC
	WebhookFile    string        // --authentication-token-webhook-config-file
	WebhookVersion string        // --authentication-token-webhook-version
	WebhookTTL     time.Duration // --authentication-token-webhook-cache-ttl; 0 means that responses are not cached
}

// OIDC configures one OpenID Connect issuer of tokens. As in Options, comments
// name the flags.
type OIDC struct {
	IssuerURL      string            // --oidc-issuer-url
	ClientID       string            // --oidc-client-id
	CAFile         string            // --oidc-ca-file
	UsernameClaim  string            // --oidc-username-claim
	UsernamePrefix string            // --oidc-username-prefix
	GroupsClaim    string            // --oidc-groups-claim
	GroupsPrefix   string            // --oidc-groups-prefix
	RequiredClaims map[string]string // --oidc-required-claim
	Algorithms     []string          // --oidc-signing-algs
}

// defaultIssuer is the issuer of service account tokens in clusters made by kubeadm.
const defaultIssuer = "https://kubernetes.default.svc.cluster.local"

// audiences returns the audiences of the API. Defaults are filled in.
func (a Authentication) audiences() []string {
	if len(a.Audiences) == 0 {
		return a.Issuers
	}
	return a.Audiences
}
