package server

import (
	"crypto/tls"
	"os"
	"slices"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/controllers/apiservices"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// newRemotes returns the index of the group versions that other servers serve.
func (p *parts) newRemotes() (*aggregation.Services, error) {
	certificate, err := p.proxyCertificate()
	if err != nil {
		return nil, err
	}
	presented, err := peercert.New(p.metrics, "kube_aggregator", "ALPHA")
	if err != nil {
		return nil, err
	}
	return aggregation.New(aggregation.Config{
		Registry: p.reg, Resolver: &services.Resolver{Registry: p.reg, Endpoints: p.o.AggregatorRouting},
		Certificate: certificate, Dial: p.o.Dial, PeerCertificates: presented,
	})
}

// proxyCertificate returns the certificate that the server presents to other API
// servers.
func (p *parts) proxyCertificate() (func() (*tls.Certificate, error), error) {
	generated := generatedFiles{p.own.Proxy, p.o.ownCertDir(), credentials.FrontProxyName}
	pair, err := presentedPair("client certificate for API servers", "proxy-client-cert-file", p.o.ProxyClientCertFile, p.o.ProxyClientKeyFile, generated, p.logger)
	if err != nil {
		return nil, err
	}
	p.presented = append(p.presented, pair)
	return pair.Present, nil
}

// newTrust returns the CAs and headers that other API servers should trust: the settings of
// the configured proxies, or else the server's own proxy certificate if it is not
// from a file. Certificates that are only in memory are not published. A file that cannot be
// read is reported by buildAuthentication.
func newTrust(o *Options, own *credentials.Certificates) apiservices.Trust {
	a := &o.Authentication
	t := apiservices.Trust{}
	if !o.NoDataDir {
		t.ClientCA = own.CA.CertPEM
	}
	if o.ClientCAFile != "" {
		more, _ := os.ReadFile(o.ClientCAFile)
		t.ClientCA = slices.Concat(t.ClientCA, more)
	}
	switch {
	case a.ProxyCAFile != "":
		t.ProxyCA, _ = os.ReadFile(a.ProxyCAFile)
		t.Names, t.UserHeaders, t.UIDHeaders = a.ProxyNames, a.ProxyUserHeaders, a.ProxyUIDHeaders
		t.GroupHeaders, t.ExtraPrefixes = a.ProxyGroupHeaders, a.ProxyPrefixes
	case o.ProxyClientCertFile == "" && !o.NoDataDir:
		t.ProxyCA, t.Names = own.ProxyCA.CertPEM, []string{credentials.FrontProxyName}
		t.UserHeaders, t.GroupHeaders, t.ExtraPrefixes = []string{"X-Remote-User"}, []string{"X-Remote-Group"}, []string{"X-Remote-Extra-"}
	}
	return t
}
