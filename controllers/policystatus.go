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
	s := &policyStatus{Config: c, client: NewClient(c.Handler, policyStatusName), policies: c.Served(admissionv1.SchemeGroupVersion, "validatingadmissionpolicies"),
		checker: policy.Checker{Catalogue: c.Catalogue, Schema: policy.PublishedSchema(c.Catalogue)}}
	if s.policies == nil {
		return nil
	}
	return &Loop[string]{BaseConfig: c.BaseConfig, Name: policyStatusName, Sync: s.sync, Sources: []Source[string]{{Resource: s.policies, Keys: NameKey}}}
}

func (s *policyStatus) sync(ctx context.Context, name string) (Result, error) {
	p, err := GetObject[*admissionv1.ValidatingAdmissionPolicy](ctx, s.BaseConfig, s.policies, "", name)
	if p == nil || err != nil || p.Generation <= p.Status.ObservedGeneration {
		return Done, err
	}
	warnings, err := s.checker.Check(p)
	if err != nil || len(warnings) == 0 && p.Status.TypeChecking == nil {
		return Done, err
	}
	applied := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: admissionv1.ValidatingAdmissionPolicyStatus{
			ObservedGeneration: p.Generation,
			TypeChecking:       &admissionv1.TypeChecking{ExpressionWarnings: warnings},
		},
	}
	path := ObjectPath(s.policies, "", name) + "/status?force=true&fieldManager=" + policyStatusManager
	return Done, IgnoreDeleted(s.client.Do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", applied, nil))
}
