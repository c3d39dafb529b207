package controllers

import (
	"context"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/policy"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const policyStatusName = "validatingadmissionpolicy-status-controller"

// policyStatusManager is the field manager of the status of policies.
const policyStatusManager = "validatingadmissionpolicy-status"

// policyStatusDelay is the delay between a change of a policy and its check, so that several changes
// in short order are checked once, and a client that reads the policy it has just created sees the
// status of that time.
const policyStatusDelay = time.Second

// policyStatus writes type errors in expressions of policies, and the generation that it has
// checked, to their status.
type policyStatus struct {
	Config
	client   *reconcile.Client
	policies *api.Resource
	checker  policy.Checker
	// due has the changed policies and when to check them.
	due map[string]time.Time
}

func newPolicyStatus(c Config) Controller {
	s := &policyStatus{Config: c, client: reconcile.NewClient(c.Handler, policyStatusName),
		policies: c.Served(admissionv1.SchemeGroupVersion, "validatingadmissionpolicies"),
		due:      map[string]time.Time{}, checker: policy.Checker{Catalogue: c.Catalogue, Schema: policy.PublishedSchema(c.Catalogue)}}
	if s.policies == nil {
		return nil
	}
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: policyStatusName, Sync: s.sync,
		Sources: []reconcile.Source[string]{{Resource: s.policies, Keys: reconcile.NameKey}}}
}

func (s *policyStatus) sync(ctx context.Context, name string) (reconcile.Result, error) {
	p, err := reconcile.GetObject[*admissionv1.ValidatingAdmissionPolicy](ctx, s.BaseConfig, s.policies, "", name)
	if err != nil {
		return reconcile.Done, err
	}
	if p == nil || p.Generation <= p.Status.ObservedGeneration {
		delete(s.due, name)
		return reconcile.Done, nil
	}
	due, waits := s.due[name]
	if !waits {
		due = time.Now().Add(policyStatusDelay)
		s.due[name] = due
	}
	if left := time.Until(due); left > 0 {
		return reconcile.Poll(left), nil
	}
	warnings, err := s.checker.Check(p)
	if err != nil {
		return reconcile.Done, err
	}
	applied := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: p.UID, ResourceVersion: p.ResourceVersion},
		Status: admissionv1.ValidatingAdmissionPolicyStatus{
			ObservedGeneration: p.Generation,
			TypeChecking:       &admissionv1.TypeChecking{ExpressionWarnings: warnings},
		},
	}
	path := reconcile.ObjectPath(s.policies, "", name) + "/status?force=true&fieldManager=" + policyStatusManager
	return reconcile.AfterWrite(s.client.Do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", applied, nil))
}
