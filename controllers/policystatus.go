package controllers

import (
	"context"
	"net/http"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/policy"
	"github.com/miniapiserver/miniapiserver/api"
)

const policyStatusName = "validatingadmissionpolicy-status-controller"

// policyStatusManager is who owns what is written of a policy's status.
const policyStatusManager = "validatingadmissionpolicy-status"

// policyStatus tells in the status of policies what is wrong with the types in
// their expressions. Of policies about which there is nothing to tell, and was
// nothing, it writes nothing.
type policyStatus struct {
	Config
	client   *Client
	policies *api.Resource
	checker  policy.Checker
}

func newPolicyStatus(c Config) Controller {
	s := &policyStatus{Config: c, client: newClient(c.Handler, policyStatusName), policies: c.served(admissionv1.SchemeGroupVersion, "validatingadmissionpolicies"),
		checker: policy.Checker{Catalogue: c.Catalogue, Schema: policy.PublishedSchema(c.Catalogue)}}
	if s.policies == nil {
		return nil
	}
	return &loop[string]{Config: c, name: policyStatusName, sync: s.sync, sources: []source[string]{{resource: s.policies, keys: nameOf}}}
}

func (s *policyStatus) sync(ctx context.Context, name string) (verdict, error) {
	p, err := get[*admissionv1.ValidatingAdmissionPolicy](ctx, s.Config, s.policies, "", name)
	if p == nil || err != nil || p.Generation <= p.Status.ObservedGeneration {
		return done, err
	}
	warnings, err := s.checker.Check(p)
	if err != nil || len(warnings) == 0 && p.Status.TypeChecking == nil {
		return done, err
	}
	applied := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: admissionv1.ValidatingAdmissionPolicyStatus{
			ObservedGeneration: p.Generation,
			TypeChecking:       &admissionv1.TypeChecking{ExpressionWarnings: warnings},
		},
	}
	path := pathOf(s.policies, "", name) + "/status?force=true&fieldManager=" + policyStatusManager
	return done, ignoreGone(s.client.do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", applied, nil))
}
