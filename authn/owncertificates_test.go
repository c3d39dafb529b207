package authn

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestOwnCertificates checks which client certificates are no credential, although a trusted CA issued
// them.
func TestOwnCertificates(t *testing.T) {
	ca, other := newIssuer(t), newIssuer(t)
	named := func(i *issuer, common string, organizations ...string) *x509.Certificate {
		return i.client(t, pkix.Name{CommonName: common, Organization: organizations})
	}
	own := &OwnCertificates{Clients: "clients", Proxies: "proxies", ProxyCA: ca.cert}
	for name, c := range map[string]struct {
		issuer     *issuer
		cert       *x509.Certificate
		forKubelet bool
		refused    bool
	}{
		"any other":                     {ca, named(ca, "jane", "admins"), false, false},
		"for kubelets":                  {ca, named(ca, "kubelet-client", "clients"), false, true},
		"for kubelets, of another CA":   {other, named(other, "kubelet-client", "clients"), false, true},
		"for API servers":               {ca, named(ca, "proxy", "proxies"), false, true},
		"for API servers of another CA": {other, named(other, "proxy", "proxies"), false, false},
		"in a request for a kubelet":    {ca, named(ca, "jane"), true, true},
	} {
		cas, err := NewCAFile("CAs", c.issuer.pem(), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for method, authenticator := range map[string]Authenticator{
			"X509": NewX509(cas, own, nil, true), "Proxy": NewProxy(cas, own, nil, ProxyHeaders{Users: []string{"X-Remote-User"}}),
		} {
			for range 2 { // the second may be cached
				r := with(c.cert)
				r.Header.Set("X-Remote-User", "admin")
				if c.forKubelet {
					r.Header.Set(request.HeaderForKubelet, "true")
				}
				if id, ok, err := authenticator.Authenticate(r); ok == c.refused || (err != nil) != c.refused {
					t.Errorf("%s, %s: %+v, %t, %v", method, name, id.User, ok, err)
				}
			}
		}
	}
}
