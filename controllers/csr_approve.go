package controllers

import (
	"context"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

const approvingName = "certificatesigningrequest-approving-controller"

// requestApprover approves requests of nodes for certificates as clients, where
// who asks may have them.
type requestApprover struct{ requests }

func newRequestApprover(c Config) Controller {
	a := &requestApprover{newRequests(c)}
	return a.loop(approvingName, a.sync)
}

func (a *requestApprover) sync(ctx context.Context, r *certificatesv1.CertificateSigningRequest) (verdict, error) {
	if len(r.Status.Certificate) > 0 || condition(r, certificatesv1.CertificateApproved) != nil || condition(r, certificatesv1.CertificateDenied) != nil ||
		r.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return done, nil
	}
	request, err := parseRequest(r.Spec.Request)
	if err != nil {
		return done, err
	}
	if kubeletClientRules(request, r.Spec.Usages) != nil {
		return done, nil // to be judged by somebody else
	}
	var tried []string
	for _, kind := range []struct {
		is                   bool
		subresource, message string
	}{
		{r.Spec.Username == request.Subject.CommonName, "selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."},
		{true, "nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."},
	} {
		if !kind.is {
			continue
		}
		tried = append(tried, kind.subresource)
		allowed, err := a.mayHave(ctx, r, kind.subresource)
		if err != nil {
			return done, err
		}
		if allowed {
			return done, a.approve(ctx, r, kind.message)
		}
	}
	return done, fmt.Errorf("recognized csr %q as %v but subject access review was not approved", r.Name, tried)
}

// mayHave tells whether who made a request may create a subresource of requests,
// which stands for a kind of certificate.
func (a *requestApprover) mayHave(ctx context.Context, r *certificatesv1.CertificateSigningRequest, subresource string) (bool, error) {
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
	err := a.client.do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", &review, &review)
	return err == nil && review.Status.Allowed, err
}

func (a *requestApprover) approve(ctx context.Context, r *certificatesv1.CertificateSigningRequest, message string) error {
	r = r.DeepCopy()
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: message,
	})
	return a.put(ctx, r, "approval")
}
