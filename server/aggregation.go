package server

import (
	"slices"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/controllers/apiservices"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// newRemotes returns the index of the group versions that other servers serve.
func (p *builder) newRemotes() (*aggregation.Services, error) {
	presented, err := peercert.New(p.metrics, "kube_aggregator", "ALPHA")
	if err != nil {
		return nil, err
	}
	return aggregation.New(aggregation.Config{
		Registry: p.reg, Resolver: &services.Resolver{Registry: p.reg, Endpoints: p.o.Aggregation.Routing},
		Certificate: p.proxyClient.Present, Dial: p.o.Dial, Guard: p.guard(), PeerCertificates: presented,
		NoUserUIDs: !p.gates.Enabled(features.RemoteRequestHeaderUID),
	})
}

// proxyCertificate returns the certificate that the server presents to other API
// servers.
func proxyCertificate(o *Options, own *credentials.Certificates) (credentials.ReloadedPair, error) {
	generated := generatedFiles{own.Proxy, o.ownCertDir(), credentials.FrontProxyName}
	return presentedPair("client certificate for API servers",
		[2]string{"proxy-client-cert-file",
			"proxy-client-key-file"}, o.Aggregation.ClientCertFile, o.Aggregation.ClientKeyFile, generated, o.Logger)
}

// newTrust returns a function that returns the CAs and headers that other API servers should trust:
// the settings of the configured proxies, or else the server's own proxy certificate if it is not
// from a file. Certificates that are only in memory are not published.
func (p *builder) newTrust() (func() apiservices.Trust, error) {
	a, own := &p.o.Authentication, p.own
	fixed := apiservices.Trust{NoUIDs: !p.gates.Enabled(features.RemoteRequestHeaderUID)}
	switch {
	case a.ProxyCAFile != "":
		fixed.Names, fixed.UserHeaders, fixed.UIDHeaders = a.ProxyNames, a.ProxyUserHeaders, a.ProxyUIDHeaders
		fixed.GroupHeaders, fixed.ExtraPrefixes = a.ProxyGroupHeaders, a.ProxyPrefixes
	case p.o.Aggregation.ClientCertFile == "" && !p.o.NoDataDir:
		var err error
		if fixed.ProxyCAs, err = authn.ParseCertificates(own.ProxyCA.CertPEM); err != nil {
			return nil, err
		}
		fixed.Names = []string{credentials.FrontProxyName}
		fixed.UserHeaders, fixed.GroupHeaders, fixed.ExtraPrefixes = []string{"X-Remote-User"}, []string{"X-Remote-Group"}, []string{"X-Remote-Extra-"}
	}
	unpublished, err := authn.ParseCertificates(own.CA.CertPEM)
	if err != nil {
		return nil, err
	}
	return func() apiservices.Trust {
		t := fixed
		t.ClientCAs, _ = p.clientCAs.Certificates()
		if p.o.NoDataDir {
			t.ClientCAs = slices.DeleteFunc(slices.Clone(t.ClientCAs), unpublished[0].Equal)
		}
		if p.proxyCAs != nil {
			t.ProxyCAs, _ = p.proxyCAs.Certificates()
		}
		return t
	}, nil
}
