package controllers

import (
	"context"
	"net/http"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

// certificateAccount is the service account of the controllers of certificate signing
// requests.
const certificateAccount = "certificate-controller"

// csrController is the common part of the controllers of certificate signing requests.
type csrController struct {
	Config
	client   *reconcile.Client
	resource *api.Resource
}

func newCSRController(c Config) csrController {
	return csrController{Config: c, client: reconcile.NewClient(c.Handler, certificateAccount),
		resource: c.Served(certificatesv1.SchemeGroupVersion, "certificatesigningrequests")}
}

// loop returns a controller that syncs one request at a time, or nil if the resource is not
// served. It uses patientBackoff, because failures last until another component acts.
func (r csrController) loop(name string,
	sync func(context.Context, *certificatesv1.CertificateSigningRequest) (reconcile.Result, error)) Controller {
	if r.resource == nil {
		return nil
	}
	return &reconcile.Loop[string]{
		BaseConfig: r.BaseConfig, Name: name, Backoff: reconcile.PatientBackoff(),
		Sources: []reconcile.Source[string]{{Resource: r.resource, Keys: reconcile.NameKey}},
		Sync: func(ctx context.Context, name string) (reconcile.Result, error) {
			request, err := reconcile.GetObject[*certificatesv1.CertificateSigningRequest](ctx, r.BaseConfig, r.resource, "", name)
			if request == nil || err != nil {
				return reconcile.Done, err
			}
			return sync(ctx, request)
		},
	}
}

// putSubresource writes a subresource of a request. It ignores a deleted request; a conflict
// is an error, which is retried.
func (r csrController) putSubresource(ctx context.Context, request *certificatesv1.CertificateSigningRequest, subresource string) error {
	err := r.client.Do(ctx, http.MethodPut, reconcile.ObjectPath(r.resource, "", request.Name)+"/"+subresource,
		"application/json", request, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// csrCondition returns the condition with the type, or nil.
func csrCondition(request *certificatesv1.CertificateSigningRequest,
	t certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequestCondition {
	for i := range request.Status.Conditions {
		if c := &request.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}
