package authz

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// recordingAuthorizer records the last request.
type recordingAuthorizer struct {
	fixedDecision
	user *request.User
	info request.Info
}

func (r *recordingAuthorizer) Authorize(_ context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	r.user, r.info = user, *info
	return r.decision, r.reason, r.err
}

func TestSubjectReview(t *testing.T) {
	a := &recordingAuthorizer{fixedDecision: fixedDecision{decision: Deny, reason: "no"}}
	asked := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "bob", UID: "1", Groups: []string{"dev"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "list", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "ns", Name: "web",
			FieldSelector: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
				{Key: "metadata.name", Operator: metav1.FieldSelectorOpIn, Values: []string{"a=b"}},
				{Key: "spec.x", Operator: metav1.FieldSelectorOpNotIn, Values: []string{"y"}},
				{Key: "spec.x", Operator: "Like", Values: []string{"y"}}}},
			LabelSelector: &authorizationv1.LabelSelectorAttributes{RawSelector: "a in (b"},
		}}}
	out, err := Reviews(a)["subjectaccessreviews"].Answer(t.Context(), registry.Target{}, asked)
	if err != nil {
		t.Fatal(err)
	}
	status := out.(*authorizationv1.SubjectAccessReview).Status
	const faults = "spec.resourceAttributes.fieldSelector partially ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error"
	if status.Allowed || !status.Denied || status.Reason != "no" || status.EvaluationError != faults {
		t.Errorf("status %+v", status)
	}
	if a.user.Name != "bob" || a.user.UID != "1" || len(a.user.Groups) != 1 || a.user.Extra["k"][0] != "v" {
		t.Errorf("user %+v", a.user)
	}
	i := a.info
	if !i.IsResource || i.Verb != "list" || i.Group != "apps" || i.Version != "*" || i.Resource != "deployments" ||
		i.Subresource != "scale" || i.Namespace != "ns" || i.Name != "web" {
		t.Errorf("info %+v", i)
	}
	if i.FieldSelector != `metadata.name=a\=b,spec.x!=y` || i.LabelSelector != "" {
		t.Errorf("selectors %q, %q", i.FieldSelector, i.LabelSelector)
	}
}

// TestSelectorCost checks that the cost of a review, which every user may create, is linear in the
// number of requirements. It would allocate 40 GB.
func TestSelectorCost(t *testing.T) {
	asked := &authorizationv1.LabelSelectorAttributes{Requirements: make([]metav1.LabelSelectorRequirement, 30_000)}
	for i := range asked.Requirements {
		asked.Requirements[i] = metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{strconv.Itoa(i)}}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, err := labelSelectorText(asked)
	runtime.ReadMemStats(&after)
	if err != nil || strings.Count(text, "a in (") != len(asked.Requirements) {
		t.Errorf("%v, %.100s", err, text)
	}
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 5000 {
		t.Errorf("%d MiB are allocated", mib)
	}
}

func TestSelfReviews(t *testing.T) {
	bob := &request.User{Name: "bob"}
	ctx := request.With(t.Context(), &request.Scope{User: bob})
	a := &recordingAuthorizer{fixedDecision: fixedDecision{decision: Allow}}
	reviews := Reviews(Union{{"rbac", a}})
	path := &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
	out, err := reviews["selfsubjectaccessreviews"].Answer(ctx, registry.Target{}, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: path}})
	if err != nil || !out.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed {
		t.Errorf("got %+v, %v", out, err)
	}
	if a.user != bob || a.info.IsResource || a.info.Path != "/metrics" || a.info.Verb != "get" {
		t.Errorf("asked of %+v %+v", a.user, a.info)
	}
	for name, asked := range map[string]*authorizationv1.SelfSubjectRulesReview{
		"no namespace on request": {},
		"":                        {Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "x"}},
	} {
		out, err := reviews["selfsubjectrulesreviews"].Answer(ctx, registry.Target{}, asked)
		switch {
		case name != "" && (err == nil || err.Error() != name):
			t.Errorf("got %v, want %s", err, name)
		case name == "" && (err != nil || out.(*authorizationv1.SelfSubjectRulesReview).Status.ResourceRules == nil):
			t.Errorf("got %+v, %v", out, err)
		}
	}
}
