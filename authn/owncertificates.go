package authn

import (
	"crypto/x509"
	"errors"
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// OwnCertificates recognizes the client certificates that API servers of this cluster show to other
// servers. Users who choose the address of a kubelet let a server show its certificate to any other
// API server, in a request of theirs. No such certificate is therefore a credential of the API. A nil
// OwnCertificates recognizes none.
type OwnCertificates struct {
	// Clients is an organization that marks certificates for kubelets that a server issued.
	Clients string
	// Proxies is an organization that marks certificates for other API servers, if ProxyCA issued
	// them. This server can itself be such another API server, of a cluster with another CA.
	Proxies string
	ProxyCA *x509.Certificate
}

var (
	errOwnCertificate = errors.New("the client certificate is one that API servers show to other servers")
	errForKubelet     = errors.New("the request with the client certificate is for a kubelet")
)

// checkNotForKubelet returns an error if an API server sent the request to a kubelet.
func checkNotForKubelet(r *http.Request) error {
	if _, ok := r.Header[request.HeaderForKubelet]; ok {
		return errForKubelet
	}
	return nil
}

// checkMarks returns an error if a certificate is marked as one that API servers show to others.
func (o *OwnCertificates) checkMarks(c *x509.Certificate) error {
	switch organizations := c.Subject.Organization; {
	case o == nil:
		return nil
	case o.Clients != "" && slices.Contains(organizations, o.Clients),
		o.ProxyCA != nil && slices.Contains(organizations, o.Proxies) && c.CheckSignatureFrom(o.ProxyCA) == nil:
		return errOwnCertificate
	}
	return nil
}
