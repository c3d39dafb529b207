package controllers

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
)

// certificateAccount is whom the controllers of requests for certificates are.
const certificateAccount = "certificate-controller"

// requests is what the controllers of requests for certificates share.
type requests struct {
	Config
	client   *Client
	resource *api.Resource
}

func newRequests(c Config) requests {
	return requests{Config: c, client: newClient(c.Handler, certificateAccount),
		resource: c.served(certificatesv1.SchemeGroupVersion, "certificatesigningrequests")}
}

// loop makes a controller that looks at one request at a time; nil when there
// are none. Others must act before what failed can succeed.
func (r requests) loop(name string, sync func(context.Context, *certificatesv1.CertificateSigningRequest) (verdict, error)) Controller {
	if r.resource == nil {
		return nil
	}
	return &loop[string]{
		Config: r.Config, name: name, pace: patient(),
		sources: []source[string]{{resource: r.resource, keys: nameOf}},
		sync: func(ctx context.Context, name string) (verdict, error) {
			request, err := get[*certificatesv1.CertificateSigningRequest](ctx, r.Config, r.resource, "", name)
			if request == nil || err != nil {
				return done, err
			}
			return sync(ctx, request)
		},
	}
}

// put writes a request, or a subresource of it. A request that is gone, or has
// changed, is looked at again for that.
func (r requests) put(ctx context.Context, request *certificatesv1.CertificateSigningRequest, subresource string) error {
	err := r.client.do(ctx, http.MethodPut, pathOf(r.resource, "", request.Name)+"/"+subresource, "application/json", request, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// condition returns the condition of a type, or nil.
func condition(request *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequestCondition {
	for i := range request.Status.Conditions {
		if c := &request.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// parseRequest reads a PKCS#10 request.
func parseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
