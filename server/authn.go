package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// identities is what the server knows users by, and gives them.
type identities struct {
	authn.Authenticator
	keys    *authn.Keys
	issuer  *authn.Issuer
	lookup  authn.Lookup
	headers authn.ProxyHeaders
	// anonymous is what a configuration says of requests without a credential.
	anonymous *authn.AnonymousConfig
}

// newIdentities decides by what users are known. The order is kube-apiserver's:
// by the listener they came in by, the server's own token, what a proxy says, a
// client certificate, a token; and else they are anonymous.
func (s *Server) newIdentities(catalogue *api.Catalogue, reg *registry.Registry, ownCA []byte, metrics *prometheus.Registry) (*identities, error) {
	o := &s.o
	id := &identities{lookup: lookupIn(catalogue, reg)}
	var err error
	if id.keys, err = readKeys(o); err != nil {
		return nil, err
	}
	id.issuer = &authn.Issuer{Name: o.Authentication.Issuers[0], Keys: id.keys}
	own := authn.TokenFile{}
	own.Add(s.Token, &request.User{Name: adminName, Groups: []string{request.GroupMasters}})
	methods := authn.Union{authn.Trusted{}, authn.Bearer{Tokens: authn.ForServer(o.Authentication.audiences(), own)}}
	proxy, err := newProxy(o)
	if err != nil {
		return nil, err
	}
	if proxy != nil {
		id.headers = proxy.ProxyHeaders
		methods = append(methods, proxy)
	}
	cas, err := authn.NewCAFile(ownCA, o.ClientCAFile, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file: %w", err)
	}
	counts, err := authn.NewTokenMetrics(metrics)
	if err != nil {
		return nil, err
	}
	tokens, err := s.newTokens(id, catalogue, reg, counts)
	if err != nil {
		return nil, err
	}
	certificates := authn.NewX509(cas)
	certificates.Metrics = counts
	methods = append(methods, certificates, authn.Bearer{Tokens: tokens}, authn.WebSocket{Tokens: tokens})
	id.Authenticator = methods
	paths, anonymous := []string(nil), !o.NoAnonymous
	if id.anonymous != nil {
		if o.NoAnonymous {
			return nil, errors.New("--anonymous-auth: cannot be set where --authentication-config says what is anonymous")
		}
		paths, anonymous = id.anonymous.AnonymousPaths()
	}
	if anonymous {
		id.Authenticator = authn.WithAnonymous(methods, paths...)
	}
	return id, nil
}

// newTokens are the kinds of bearer tokens, in the order in which they are
// asked.
func (s *Server) newTokens(id *identities, catalogue *api.Catalogue, reg *registry.Registry, counts *authn.TokenMetrics) (authn.Tokens, error) {
	o, audiences := &s.o, s.o.Authentication.audiences()
	var tokens authn.Tokens
	if o.TokenFile != "" {
		file, err := authn.ReadTokenFile(o.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-auth-file: %w", err)
		}
		tokens = append(tokens, authn.ForServer(audiences, file))
	}
	tokens = append(tokens, &authn.ServiceAccounts{
		Issuers:   o.Authentication.Issuers,
		Keys:      id.keys,
		Audiences: audiences,
		NoLookup:  o.Authentication.NoLookup,
		Objects:   id.lookup,
		Used:      noteUse(catalogue, reg),
		Metrics:   counts,
	})
	if o.Authentication.BootstrapTokens {
		tokens = append(tokens, authn.ForServer(audiences, &authn.BootstrapTokens{Objects: id.lookup}))
	}
	others, err := s.otherTokens(id, counts)
	if err != nil {
		return nil, err
	}
	return append(tokens, others...), nil
}

// readKeys reads the keys of service accounts. Without one to sign by, the
// server has one of its own.
func readKeys(o *Options) (*authn.Keys, error) {
	keys, err := authn.ReadKeys(o.Authentication.KeyFiles, o.Authentication.SigningKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--service-account-key-file, --service-account-signing-key-file: %w", err)
	}
	if keys.CanSign() {
		return keys, nil
	}
	return authn.OwnKeys(filepath.Join(o.CertDir, "sa.key"), keys), nil
}

// newProxy is the method of authenticating proxies; nil if none are believed.
func newProxy(o *Options) (*authn.Proxy, error) {
	a := &o.Authentication
	if a.ProxyCAFile == "" {
		return nil, nil
	}
	cas, err := authn.NewCAFile(nil, a.ProxyCAFile, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
	}
	return authn.NewProxy(cas, a.ProxyNames, authn.ProxyHeaders{
		Users: a.ProxyUserHeaders, UIDs: a.ProxyUIDHeaders, Groups: a.ProxyGroupHeaders, Extra: a.ProxyPrefixes,
	}), nil
}

// reviews answer questions about identities.
func (id *identities) reviews(o *Options) map[string]registry.Review {
	return authn.Reviews(id, o.Authentication.audiences(), &authn.TokenRequests{
		Issuer:    id.issuer,
		Audiences: o.Authentication.audiences(),
		Longest:   o.Authentication.MaxTokenExpiration,
		Extend:    !o.Authentication.NoExtension,
		Objects:   id.lookup,
	})
}

// discovery says to others whose tokens the server issues.
func (id *identities) discovery(o *Options, url string) *authn.Discovery {
	uri := o.Authentication.JWKSURI
	if uri == "" {
		uri = url + "/openid/v1/jwks"
	}
	return &authn.Discovery{Issuer: id.issuer.Name, JWKSURI: uri, Keys: id.keys}
}

// lookupIn reads objects of the core group for authentication.
func lookupIn(catalogue *api.Catalogue, reg *registry.Registry) authn.Lookup {
	targets := map[string]registry.Target{}
	for _, name := range []string{"serviceaccounts", "secrets", "pods", "nodes"} {
		if res, version, ok := find(catalogue, corev1.SchemeGroupVersion, name); ok {
			targets[name] = registry.Target{Resource: res, Version: version}
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

// noteUse writes to a Secret on which day its token was last used. That it
// cannot be written keeps nobody out.
func noteUse(catalogue *api.Catalogue, reg *registry.Registry) func(context.Context, *corev1.Secret) {
	res, version, ok := find(catalogue, corev1.SchemeGroupVersion, "secrets")
	return func(ctx context.Context, secret *corev1.Secret) {
		today := time.Now().UTC().Format(time.DateOnly)
		if !ok || secret.Labels[authn.LabelLastUsed] == today {
			return
		}
		ctx = request.With(ctx, &request.Scope{User: &request.User{Name: request.UserAPIServer, Groups: []string{request.GroupMasters}}})
		t := registry.Target{Resource: res, Version: version, Namespace: secret.Namespace, Name: secret.Name}
		_, _ = reg.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
			metav1.SetMetaDataLabel(&old.(*corev1.Secret).ObjectMeta, authn.LabelLastUsed, today)
			return old, nil
		}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: ownManager}})
	}
}

// loadServing returns the pair to serve with, and what clients verify it by: a
// pair that was brought along is not of the server's CA, and its own
// certificates are all that is known about it.
func loadServing(o *Options, own *certificates) (serving *pair, verify []byte, err error) {
	if o.TLSCertFile == "" {
		if own.serving.cert.CheckSignatureFrom(own.ca.cert) != nil {
			return own.serving, own.serving.certPEM, nil
		}
		return own.serving, own.ca.certPEM, nil
	}
	serving, err = readPair(o.TLSCertFile, o.TLSKeyFile)
	if errors.Is(err, errMismatch) {
		return nil, nil, fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--tls-cert-file: %w", err)
	}
	return serving, serving.certPEM, nil
}

// serverNameFor returns the name to look for in a certificate that is not for
// the host by which it is reached; empty where it is.
func serverNameFor(p *pair, host string) string {
	switch {
	case p.cert.VerifyHostname(host) == nil:
		return ""
	case len(p.cert.DNSNames) > 0:
		return p.cert.DNSNames[0]
	case len(p.cert.IPAddresses) > 0:
		return p.cert.IPAddresses[0].String()
	}
	return ""
}

func newToken() string { return rand.Text() + rand.Text() }
