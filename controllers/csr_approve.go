package controllers

import (
	"context"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
)

const requestApproverName = "certificatesigningrequest-approving-controller"

// requestApprover approves client certificates of nodes if the requester may create such
// certificates.
type requestApprover struct{ csrController }

func newRequestApprover(c Config) Controller {
	a := &requestApprover{newCSRController(c)}
	return a.loop(requestApproverName, a.sync)
}

func (a *requestApprover) sync(ctx context.Context, r *certificatesv1.CertificateSigningRequest) (reconcile.Result, error) {
	if len(r.Status.Certificate) > 0 || csrCondition(r, certificatesv1.CertificateApproved) != nil ||
		csrCondition(r, certificatesv1.CertificateDenied) != nil ||
		r.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return reconcile.Done, nil
	}
	request, err := certificates.ParseRequest(r.Spec.Request)
	if err != nil {
		return reconcile.Done, err
	}
	if kubeletClientRules(request, r.Spec.Usages) != nil {
		return reconcile.Done, nil // other approvers decide
	}
	var tried []string
	for _, kind := range []struct {
		is                   bool
		subresource, message string
	}{
		{r.Spec.Username == request.Subject.CommonName, "selfnodeclient",
			"Auto approving self kubelet client certificate after SubjectAccessReview."},
		{true, "nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."},
	} {
		if !kind.is {
			continue
		}
		tried = append(tried, kind.subresource)
		allowed, err := a.isAllowed(ctx, r, kind.subresource)
		if err != nil {
			return reconcile.Done, err
		}
		if allowed {
			return reconcile.Done, a.approve(ctx, r, kind.message)
		}
	}
	return reconcile.Done, fmt.Errorf("recognized csr %q as %v but subject access review was not approved", r.Name, tried)
}

// isAllowed reports whether the requester may create the subresource of
// certificatesigningrequests that stands for a type of certificate.
func (a *requestApprover) isAllowed(ctx context.Context, r *certificatesv1.CertificateSigningRequest, subresource string) (bool, error) {
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: r.Spec.Username, UID: r.Spec.UID, Groups: r.Spec.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: certificatesv1.GroupName, Version: "*", Resource: "certificatesigningrequests", Subresource: subresource, Verb: "create",
		},
	}}
	if len(r.Spec.Extra) > 0 {
		review.Spec.Extra = make(map[string]authorizationv1.ExtraValue, len(r.Spec.Extra))
	}
	for k, v := range r.Spec.Extra {
		review.Spec.Extra[k] = authorizationv1.ExtraValue(v)
	}
	// The response is decoded into another review, because the slices of this one belong to r, which is shared.
	var answer authorizationv1.SubjectAccessReview
	err := a.client.Do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", &review, &answer)
	return err == nil && answer.Status.Allowed, err
}

func (a *requestApprover) approve(ctx context.Context, r *certificatesv1.CertificateSigningRequest, message string) error {
	r = r.DeepCopy()
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: message,
	})
	return a.putSubresource(ctx, r, "approval")
}
