package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/miniapiserver/miniapiserver/server"
)

// accessFlags say how users are known.
func accessFlags(fs *pflag.FlagSet, s *settings) {
	a := &s.Authentication
	fs.BoolVar(&s.anonymous, "anonymous-auth", true, "Take requests without a credential for system:anonymous, rather than refuse them.")
	fs.StringSliceVar(&a.Audiences, "api-audiences", nil, "`Names` that this server goes by: tokens must be meant for one of them (default: --service-account-issuer).")
	fs.StringVar(&s.ClientCAFile, "client-ca-file", "", "`File` with CAs of client certificates that are accepted besides the server's own; read again when it changes.")
	fs.StringVar(&s.TokenFile, "token-auth-file", "", "CSV `file` of bearer tokens: token,user name,user uid,\"group1,group2\".")
	accountFlags(fs, a)
	fs.BoolVar(&a.BootstrapTokens, "enable-bootstrap-token-auth", false, "If true, Secrets of type bootstrap.kubernetes.io/token in kube-system are accepted as bearer tokens.")
	s.turnOff(fs, &a.NoLookup, "service-account-lookup", "Take tokens of Secrets only as long as the Secret is there.")
	s.turnOff(fs, &a.NoExtension, "service-account-extend-token-expiration", "Let the tokens that pods have mounted be good for a year, though they should be renewed within an hour, and count those that are not.")
	oidcFlags(fs, a)
	proxyFlags(fs, a)
}

// oidcFlags are about tokens that others issue or know.
func oidcFlags(fs *pflag.FlagSet, a *server.Authentication) {
	fs.StringVar(&a.ConfigFile, "authentication-config", "", "`File` with an AuthenticationConfiguration of apiserver.config.k8s.io: issuers of tokens and what is made of their claims; read again when it changes.")
	fs.StringVar(&a.OIDC.IssuerURL, "oidc-issuer-url", "", "https `URL` of an OpenID Connect issuer whose tokens are believed.")
	fs.StringVar(&a.OIDC.ClientID, "oidc-client-id", "", "`Name` that tokens of --oidc-issuer-url must be meant for.")
	fs.StringVar(&a.OIDC.CAFile, "oidc-ca-file", "", "`File` with the CAs that --oidc-issuer-url is verified by (default: those of this machine).")
	fs.StringVar(&a.OIDC.UsernameClaim, "oidc-username-claim", "sub", "`Claim` that is the user's name.")
	fs.StringVar(&a.OIDC.UsernamePrefix, "oidc-username-prefix", "", "What stands before the user's name; - for nothing (default: the issuer and #, unless the claim is email).")
	fs.StringVar(&a.OIDC.GroupsClaim, "oidc-groups-claim", "", "`Claim` that is the user's groups.")
	fs.StringVar(&a.OIDC.GroupsPrefix, "oidc-groups-prefix", "", "What stands before the names of groups.")
	fs.StringToStringVar(&a.OIDC.RequiredClaims, "oidc-required-claim", nil, "`Claim=value` that tokens must have; may be given several times.")
	fs.StringSliceVar(&a.OIDC.Algorithms, "oidc-signing-algs", []string{"RS256"}, "`Algorithms` that tokens may be signed by.")
	fs.StringVar(&a.WebhookFile, "authentication-token-webhook-config-file", "", "`File` in the form of a kubeconfig that says where a webhook is that knows tokens.")
	fs.StringVar(&a.WebhookVersion, "authentication-token-webhook-version", "v1beta1", "`Version` of the TokenReviews that the webhook gets: v1beta1 or v1.")
	fs.DurationVar(&a.WebhookTTL, "authentication-token-webhook-cache-ttl", 2*time.Minute, "How long answers of the webhook are remembered.")
}

// accountFlags are about tokens of service accounts.
func accountFlags(fs *pflag.FlagSet, a *server.Authentication) {
	fs.StringArrayVar(&a.Issuers, "service-account-issuer", nil, "`URL` that tokens of service accounts are issued under; given several times, all are believed and the first is used (default: https://kubernetes.default.svc.cluster.local).")
	fs.StringArrayVar(&a.KeyFiles, "service-account-key-file", nil, "PEM `file` of keys or certificates that tokens of service accounts are checked by; may be given several times.")
	fs.StringVar(&a.SigningKeyFile, "service-account-signing-key-file", "", "PEM `file` of the private key that tokens of service accounts are signed by (default: one that the server makes, sa.key in --cert-dir).")
	fs.StringVar(&a.JWKSURI, "service-account-jwks-uri", "", "https `URL` of the keys that tokens of service accounts are checked by, for /.well-known/openid-configuration (default: at this server).")
	fs.DurationVar(&a.MaxTokenExpiration, "service-account-max-token-expiration", 0, "How long tokens of service accounts are good at most; 0 means as long as is asked for.")
}

// proxyFlags are about authenticating proxies.
func proxyFlags(fs *pflag.FlagSet, a *server.Authentication) {
	fs.StringVar(&a.ProxyCAFile, "requestheader-client-ca-file", "", "`File` with the CAs of the proxies that are believed what they say of users in headers; read again when it changes.")
	fs.StringSliceVar(&a.ProxyNames, "requestheader-allowed-names", nil, "Common `names` of the certificates of these proxies; none means any.")
	fs.StringSliceVar(&a.ProxyUserHeaders, "requestheader-username-headers", nil, "`Headers` that say the user's name, the first that is there counting; X-Remote-User is common.")
	fs.StringSliceVar(&a.ProxyUIDHeaders, "requestheader-uid-headers", nil, "`Headers` that say the user's uid; X-Remote-Uid is common.")
	fs.StringSliceVar(&a.ProxyGroupHeaders, "requestheader-group-headers", nil, "`Headers` that each say a group; X-Remote-Group is common.")
	fs.StringSliceVar(&a.ProxyPrefixes, "requestheader-extra-headers-prefix", nil, "`Prefixes` of headers that say further attributes; X-Remote-Extra- is common.")
}

// turnOff binds a flag that is on by default to an option that is off by
// default.
func (s *settings) turnOff(fs *pflag.FlagSet, off *bool, name, usage string) {
	on := fs.Bool(name, true, usage)
	s.afterwards = append(s.afterwards, func() { *off = !*on })
}
