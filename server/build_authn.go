package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authn/externaljwt"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/clock"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/server/credentials"
	"github.com/miniapiserver/miniapiserver/storage"
)

// identities authenticates users and issues tokens of service accounts.
type identities struct {
	authn.Authenticator
	issuer  *authn.Issuer
	lookup  authn.Lookup
	headers authn.ProxyHeaders
	// issuers finds the keys of OpenID Connect issuers while it runs; nil if there
	// are none.
	issuers *authn.JWTIssuers
	// requests answers TokenRequests.
	requests *authn.TokenRequests
}

// buildAuthentication makes the authentication methods that the options choose, in
// kube-apiserver's order: the listener of the request, the server's own token, an
// authenticating proxy, a client certificate, other tokens; any other request is
// anonymous.
func (p *builder) buildAuthentication() error {
	o, audiences := &p.o, p.o.Authentication.audiences()
	keys, err := p.keys()
	p.tokenKeys = keys
	if err != nil {
		return err
	}
	token := authn.TokenFile{}
	token.Add(p.Token, &request.User{Name: credentials.AdminName, Groups: []string{request.GroupMasters}})
	methods := authn.Union{authn.Trusted{}, authn.Bearer{Tokens: authn.ForServer(audiences, token)}}
	own := p.ownCertificates()
	var headers authn.ProxyHeaders
	if p.proxyCAs != nil {
		proxy := newProxy(o, p.proxyCAs, own).WithClock(p.clock.Now)
		headers = proxy.ProxyHeaders
		methods = append(methods, proxy)
	}
	counts, err := authn.NewTokenMetrics(p.metrics)
	if err != nil {
		return err
	}
	lookup := lookupIn(p.reg)
	tokens, err := newTokens(o, &authn.ServiceAccounts{
		Issuers: o.Authentication.Issuers, Keys: keys, Audiences: audiences, NoLookup: o.Authentication.NoLookup,
		Objects: lookup, OnSecretTokenUse: recordTokenUse(p.reg, p.clock), Metrics: counts, Now: p.clock.Now,
		WebhookTokens: p.gates.Enabled(features.APIServerWebhookAuthenticationToken),
	})
	if err != nil {
		return err
	}
	jwt, err := authn.NewJWTMetrics(p.metrics, p.serverID, p.gates.Enabled(features.StructuredAuthenticationConfigurationJWKSMetrics))
	if err != nil {
		return err
	}
	external, err := newExternalTokens(o, counts, jwt, p.webhookDialer(), p.guard(), p.gates, p.clock)
	if err != nil {
		return err
	}
	tokens = append(tokens, external.tokens...)
	methods = append(methods, authn.NewX509(p.clientCAs, own, counts,
		p.gates.Enabled(features.AllowParsingUserUIDFromCertAuth)).WithClock(p.clock.Now), authn.Bearer{Tokens: tokens}, authn.WebSocket{Tokens: tokens})
	authenticator, err := withAnonymous(methods, o, external.anonymous)
	if err != nil {
		return err
	}
	issuer := &authn.Issuer{Name: o.Authentication.Issuers[0], Keys: keys, Now: p.clock.Now}
	p.identities = &identities{Authenticator: authenticator, issuer: issuer, lookup: lookup, headers: headers, issuers: external.issuers,
		requests: &authn.TokenRequests{
			Issuer:           issuer,
			Audiences:        audiences,
			MaxExpiration:    o.Authentication.MaxTokenExpiration,
			ExtendExpiration: !o.Authentication.NoExtension,
			AnyAccountUID:    !p.gates.Enabled(features.TokenRequestServiceAccountUIDValidation),
			Objects:          lookup,
			Attests:          p.attests(),
		}}
	return nil
}

// attests returns the function by which service accounts are authorized to attest something to webhooks;
// nil if the feature is disabled.
func (p *builder) attests() func(context.Context, *request.User, *request.Info) error {
	if !p.gates.Enabled(features.APIServerWebhookAuthenticationToken) {
		return nil
	}
	return func(ctx context.Context, user *request.User, info *request.Info) error {
		return authz.Require(ctx, p.access.decide, user, info)
	}
}

// newTokens returns the authenticators of tokens that the server's own files and
// objects describe, in the order in which they are tried.
func newTokens(o *Options, accounts *authn.ServiceAccounts) (authn.Tokens, error) {
	var tokens authn.Tokens
	if o.Authentication.TokenFile != "" {
		file, err := authn.ReadTokenFile(o.Authentication.TokenFile)
		if err != nil {
			return nil, fileError("token-auth-file", o.Authentication.TokenFile, err)
		}
		tokens = append(tokens, authn.ForServer(accounts.Audiences, file))
	}
	tokens = append(tokens, accounts)
	if o.Authentication.BootstrapTokens {
		tokens = append(tokens, authn.ForServer(accounts.Audiences, &authn.BootstrapTokens{Objects: accounts.Objects, Now: accounts.Now}))
	}
	return tokens, nil
}

// withAnonymous makes requests without a credential anonymous, unless the options or
// the configuration, which may be nil, refuse them. As in kube-apiserver, the flag --anonymous-auth
// has no effect if everybody who is authenticated may do everything.
func withAnonymous(methods authn.Union, o *Options, configured *authn.AnonymousConfig) (authn.Authenticator, error) {
	paths, anonymous := []string(nil), !o.Authentication.NoAnonymous
	if configured != nil {
		if o.Authentication.NoAnonymous {
			return nil, errors.New("--anonymous-auth: cannot be set where --authentication-config says what is anonymous")
		}
		paths, anonymous = configured.AnonymousPaths()
	} else if anonymous && slices.Contains(o.Authorization.Modes, authz.ModeAlwaysAllow) {
		o.Logger.Warn("anonymous requests are refused, because the authorization mode AlwaysAllow would allow them everything")
		anonymous = false
	}
	if !anonymous {
		return methods, nil
	}
	return authn.WithAnonymous(methods, paths...), nil
}

// keys returns the keys of service accounts: those of the external signer, or those in files.
func (p *builder) keys() (*authn.Keys, error) {
	metrics, err := externaljwt.NewMetrics(p.metrics) // kube-apiserver has them always
	if err != nil {
		return nil, err
	}
	if p.o.Authentication.SigningEndpoint == "" {
		return p.readKeys()
	}
	if p.signer, err = externaljwt.New(p.o.Authentication.SigningEndpoint, metrics, p.logger); err != nil {
		return nil, fmt.Errorf("--service-account-signing-endpoint: %w", err)
	}
	p.atEnd(func(context.Context) error { return p.signer.Close() })
	return authn.NewExternalKeys(p.signer), nil
}

// connectSigner connects to the external signer. Its maximum lifetime of tokens bounds that of
// the options.
func (p *builder) connectSigner(ctx context.Context) error {
	if p.signer == nil {
		return nil
	}
	longest, err := p.signer.Connect(ctx)
	if err != nil {
		return fmt.Errorf("--service-account-signing-endpoint: %w", err)
	}
	requests := p.identities.requests
	if requests.MaxExpiration > longest {
		return fmt.Errorf("--service-account-max-token-expiration: %v is longer than the external signer supports, %v",
			requests.MaxExpiration, longest)
	}
	if requests.MaxExpiration == 0 {
		requests.MaxExpiration = longest
	}
	requests.MaxExtended = longest
	p.runLoop("keys of the external signer", func() { p.signer.Run(p.lifetime) })
	return nil
}

// readKeys reads the keys of service accounts. If none of them can sign, it adds a generated one. Beside
// other servers on an external etcd it exists from the start, so that it can be copied to them.
func (p *builder) readKeys() (*authn.Keys, error) {
	a := &p.o.Authentication
	keys, err := authn.ReadKeys(a.KeyFiles, a.SigningKeyFile, p.o.Logger)
	if err != nil {
		var signing *authn.SigningKeyError
		if errors.As(err, &signing) {
			return nil, fileError("service-account-signing-key-file", a.SigningKeyFile, err)
		}
		return nil, fmt.Errorf("--service-account-key-file: %w", err)
	}
	if keys.CanSign() {
		return keys, nil
	}
	keys = authn.NewGeneratedKeys(filepath.Join(p.o.Serving.CertDir, "sa.key"), keys)
	if len(p.o.Etcd.Servers) == 0 {
		return keys, nil
	}
	isNew, err := keys.Generate()
	if err != nil {
		return nil, fmt.Errorf("--cert-dir: %w", err)
	}
	p.hasNewTokenKey = isNew
	return keys, nil
}

// warnOfNewKeys logs that keys were generated in this start although the store has the data of an earlier
// one, or of another server: clients with the credentials of that time are refused.
func (p *builder) warnOfNewKeys(context.Context) error {
	isNewCA := p.own.IsNew && !p.ephemeral && !p.o.NoDataDir
	if !isNewCA && !p.hasNewTokenKey {
		return nil
	}
	namespaces, err := p.reg.FindResource(corev1.Resource("namespaces"))
	if err != nil {
		return nil // a server without namespaces
	}
	at := registry.Target{Resource: namespaces, Version: namespaces.Version(corev1.SchemeGroupVersion), Name: metav1.NamespaceSystem}
	if _, err := p.reg.Get(p.lifetime, at, storage.Read{Match: storage.Any}); err != nil {
		return nil // an empty store
	}
	if isNewCA {
		p.logger.Warn("the certificate authority is new but the data is not: client certificates and kubeconfigs of earlier are refused; "+
			"to use them, stop the server and copy the earlier files over the new ones", "dir", p.o.Serving.CertDir)
	}
	if p.hasNewTokenKey {
		p.logger.Warn("the key of service account tokens is new but the data is not: servers on the same etcd refuse the tokens of each other; "+
			"to share the key, stop this server and copy the directory from the first server", "dir", p.o.Serving.CertDir)
	}
	return nil
}

// newProxy returns the authenticator of requests from authenticating proxies.
func newProxy(o *Options, cas *authn.CAFile, own *authn.OwnCertificates) *authn.Proxy {
	a := &o.Authentication
	return authn.NewProxy(cas, own, a.ProxyNames, authn.ProxyHeaders{
		Users: a.ProxyUserHeaders, UIDs: a.ProxyUIDHeaders, Groups: a.ProxyGroupHeaders, Extra: a.ProxyPrefixes,
	})
}

// reviews returns the functions that answer TokenReviews, SelfSubjectReviews and
// TokenRequests.
func (id *identities) reviews(o *Options) map[string]registry.Review {
	return authn.Reviews(id, o.Authentication.audiences(), id.requests)
}

// discovery returns the documents by which other programs verify the server's tokens.
func (id *identities) discovery(o *Options, url string) *authn.Discovery {
	uri := o.Authentication.JWKSURI
	if uri == "" {
		uri = url + "/openid/v1/jwks"
	}
	return &authn.Discovery{Issuer: id.issuer.Name, JWKSURI: uri, Keys: id.issuer.Keys}
}

// lookupIn returns the function by which authentication reads objects.
func lookupIn(reg *registry.Registry) authn.Lookup {
	targets := map[string]registry.Target{}
	for _, name := range []string{"serviceaccounts", "secrets", "pods", "nodes"} {
		if res, err := reg.FindResource(corev1.Resource(name)); err == nil {
			targets[name] = registry.Target{Resource: res, Version: res.Version(corev1.SchemeGroupVersion)}
		}
	}
	for _, name := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		if res, err := reg.FindResource(admissionv1.Resource(name)); err == nil {
			targets[name] = registry.Target{Resource: res, Version: res.Version(admissionv1.SchemeGroupVersion)}
		}
	}
	return func(ctx context.Context, resource, namespace, name string, fresh bool) (api.Object, error) {
		t, ok := targets[resource]
		if !ok {
			return nil, fmt.Errorf("the catalogue has no %s", resource)
		}
		t.Namespace, t.Name = namespace, name
		read := storage.Read{Match: storage.Any}
		if fresh {
			read = storage.Read{}
		}
		item, err := reg.Get(ctx, t, read)
		if err != nil {
			return nil, err
		}
		return item.Object()
	}
}

// recordTokenUse returns a function that labels a Secret with the day on which its
// token was last used. A user whose Secret cannot be written is authenticated all the
// same.
func recordTokenUse(reg *registry.Registry, now *clock.Clock) func(context.Context, *corev1.Secret) {
	res, err := reg.FindResource(corev1.Resource("secrets"))
	return func(ctx context.Context, secret *corev1.Secret) {
		today := now.Now().UTC().Format(time.DateOnly)
		if err != nil || secret.Labels[authn.LabelLastUsed] == today {
			return
		}
		ctx = request.With(ctx, &request.Scope{User: &request.User{Name: request.UserAPIServer, Groups: []string{request.GroupMasters}}})
		t := registry.Target{Resource: res, Version: res.Version(corev1.SchemeGroupVersion), Namespace: secret.Namespace, Name: secret.Name}
		_, _ = reg.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
			metav1.SetMetaDataLabel(&old.(*corev1.Secret).ObjectMeta, authn.LabelLastUsed, today)
			return old, nil
		}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: reconcile.ServerManager}})
	}
}
