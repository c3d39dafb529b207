package authz

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

// fixedDecision is an authorizer with a constant result.
type fixedDecision struct {
	decision Decision
	reason   string
	err      error
}

func (s fixedDecision) Authorize(context.Context, *request.User, *request.Info) (Decision, string, error) {
	return s.decision, s.reason, s.err
}

func TestUnion(t *testing.T) {
	broken := errors.New("broken")
	cases := []struct {
		name     string
		union    Union
		decision Decision
		reason   string
		err      error
	}{
		{"nobody", nil, NoOpinion, "", nil},
		{"first decides", Union{{"a", fixedDecision{decision: Deny, reason: "no"}}, {"b", fixedDecision{decision: Allow}}}, Deny, "no", nil},
		{"later allows", Union{{"a", fixedDecision{reason: "not mine"}}, {"b", fixedDecision{err: broken}}, {"c", fixedDecision{decision: Allow}}}, Allow, "", nil},
		{"reasons add up", Union{{"a", fixedDecision{reason: "one"}}, {"b", fixedDecision{}}, {"c", fixedDecision{reason: "two", err: broken}}}, NoOpinion, "a: one\nc: two", broken},
	}
	for _, c := range cases {
		decision, reason, err := c.union.Authorize(t.Context(), nil, &request.Info{})
		if decision != c.decision || reason != c.reason || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, %q, %v", c.name, decision, reason, err)
		}
	}
}

func TestPrivileged(t *testing.T) {
	info := request.Info{Verb: "get", Path: "/metrics"}
	for _, c := range []struct {
		user *request.User
		want Decision
	}{
		{&request.User{Name: "root", Groups: []string{"dev", request.GroupMasters}}, Allow},
		{&request.User{Name: request.GroupMasters, Groups: []string{request.GroupAuthenticated}}, NoOpinion},
		{nil, NoOpinion},
	} {
		if got, _, err := Privileged(request.GroupMasters).Authorize(t.Context(), c.user, &info); got != c.want || err != nil {
			t.Errorf("%+v: got %v, %v", c.user, got, err)
		}
	}
}

func TestForbiddenMessage(t *testing.T) {
	cases := []struct{ method, path, reason, want string }{
		{"GET", "/api/v1/namespaces/x/pods", "",
			`pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "x"`},
		{"GET", "/api/v1/namespaces/ns/pods/x", "",
			`pods "x" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "ns"`},
		{"GET", "/apis/apps/v1/deployments", "",
			`deployments.apps is forbidden: User "alice" cannot list resource "deployments" in API group "apps" at the cluster scope`},
		{"GET", "/apis/apps/v1/namespaces/n/deployments/web/scale", "",
			`deployments.apps "web" is forbidden: User "alice" cannot get resource "deployments/scale" in API group "apps" in the namespace "n"`},
		{"DELETE", "/api/v1/namespaces/n", "",
			`namespaces "n" is forbidden: User "alice" cannot delete resource "namespaces" in API group "" in the namespace "n"`},
		{"GET", "/api/v1/secrets", "can only read namespaced object of this type",
			`secrets is forbidden: User "alice" cannot list resource "secrets" in API group "" at the cluster scope: can only read namespaced object of this type`},
		{"GET", "/livez/ping", "", `forbidden: User "alice" cannot get path "/livez/ping"`},
		{"POST", "/", "", `forbidden: User "alice" cannot post path "/"`},
		{"GET", "/a&<b>", "<reason>", `forbidden: User "alice" cannot get path "/a&amp;&lt;b&gt;": <reason>`},
	}
	for _, c := range cases {
		info := request.Parse(httptest.NewRequest(c.method, c.path, nil))
		if got := forbiddenMessage(&request.User{Name: "alice"}, &info, c.reason); got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.method, c.path, got, c.want)
		}
	}
}

func TestForbidden(t *testing.T) {
	user := &request.User{Name: "alice"}
	info := request.Parse(httptest.NewRequest("GET", "/apis/apps/v1/namespaces/n/deployments/web/scale", nil))
	got := Forbidden(user, &info, "").ErrStatus
	if got.Code != 403 || got.Reason != "Forbidden" || got.Details.Group != "apps" || got.Details.Kind != "deployments" || got.Details.Name != "web" {
		t.Errorf("resource: got %+v, details %+v", got, got.Details)
	}
	info = request.Parse(httptest.NewRequest("GET", "/metrics", nil))
	if got := Forbidden(user, &info, "").ErrStatus; got.Details == nil || got.Details.Kind != "" || got.Details.Name != "" {
		t.Errorf("path: details %+v", got.Details)
	}
}
