package authn

import (
	"bytes"
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
	// Shown return the certificates that this server shows now. Their keys are refused, whoever issued
	// them.
	Shown []func() *x509.Certificate
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

// checkRequest returns an error if the request has a certificate that this server shows to others, or
// if an API server sent it to a kubelet.
func (o *OwnCertificates) checkRequest(r *http.Request) error {
	if _, ok := r.Header[request.HeaderForKubelet]; ok {
		return errForKubelet
	}
	if o == nil {
		return nil
	}
	key := r.TLS.PeerCertificates[0].RawSubjectPublicKeyInfo
	for _, shown := range o.Shown {
		if bytes.Equal(key, shown().RawSubjectPublicKeyInfo) {
			return errOwnCertificate
		}
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
