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

// policyStatusManager is the field manager of the status of policies.
const policyStatusManager = "validatingadmissionpolicy-status"

// policyStatus writes type errors in expressions of policies to their status. It writes
// nothing if there are no errors and the status has none.
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
	return &loop[string]{Config: c, name: policyStatusName, sync: s.sync, sources: []source[string]{{resource: s.policies, keys: nameKey}}}
}

func (s *policyStatus) sync(ctx context.Context, name string) (syncResult, error) {
	p, err := getObject[*admissionv1.ValidatingAdmissionPolicy](ctx, s.Config, s.policies, "", name)
	if p == nil || err != nil || p.Generation <= p.Status.ObservedGeneration {
		return resultDone, err
	}
	warnings, err := s.checker.Check(p)
	if err != nil || len(warnings) == 0 && p.Status.TypeChecking == nil {
		return resultDone, err
	}
	applied := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: admissionv1.ValidatingAdmissionPolicyStatus{
			ObservedGeneration: p.Generation,
			TypeChecking:       &admissionv1.TypeChecking{ExpressionWarnings: warnings},
		},
	}
	path := objectPath(s.policies, "", name) + "/status?force=true&fieldManager=" + policyStatusManager
	return resultDone, ignoreDeleted(s.client.do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", applied, nil))
}
