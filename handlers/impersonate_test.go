package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/request"
)

// permissions is an authorizer that allows every user the listed requests, as "verb
// resource[.group][/subresource] [namespace/]name"; "*" allows all but impersonation.
type permissions []string

func (p permissions) Authorize(_ context.Context, _ *request.User, info *request.Info) (authz.Decision, string, error) {
	requested := fmt.Sprintf("%s %s", info.Verb, info.Resource)
	if info.Group != "" {
		requested += "." + info.Group
	}
	if info.Subresource != "" {
		requested += "/" + info.Subresource
	}
	requested += " "
	if info.Namespace != "" {
		requested += info.Namespace + "/"
	}
	requested += info.Name
	if slices.Contains(p, requested) || slices.Contains(p, "*") && !strings.HasPrefix(info.Verb, "impersonate") {
		return authz.Allow, "", nil
	}
	return authz.NoOpinion, "", nil
}

// fixedUser authenticates every request as one user.
type fixedUser struct{ user *request.User }

func (f fixedUser) Authenticate(*http.Request) (authn.Identity, bool, error) {
	return authn.Identity{User: f.user}, true, nil
}

// impersonated returns the user as whom a request is served, or the message of the refusal.
func impersonated(t *testing.T, authenticated *request.User, allowed permissions, headers ...string) (user, impersonator *request.User, refusal string) {
	t.Helper()
	handler := behind(t, func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		user, impersonator = scope.User, scope.Impersonator
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate") {
				t.Errorf("%s is still there", name)
			}
		}
	}, func(c *Config) {
		c.Authenticator, c.Authorizer, c.Metrics = fixedUser{authenticated}, allowed, prometheus.NewRegistry()
		c.Gates[features.ConstrainedImpersonation] = true
	})
	r := httptest.NewRequest(http.MethodGet, mapsPath, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		s := statusIn(t, w)
		return nil, nil, fmt.Sprint(s.Code, " ", s.Message)
	}
	return user, impersonator, ""
}

// TestImpersonation checks which permissions each mode requires, and the resulting user.
func TestImpersonation(t *testing.T) {
	bob := &request.User{Name: "bob", Groups: []string{"system:authenticated"}}
	pod := &request.User{Name: "system:serviceaccount:ns:agent", Extra: map[string][]string{request.ExtraNodeName: {"n1"}}}
	onMaps := "impersonate-on:%s:list configmaps ns/"
	on := func(mode string) string { return fmt.Sprintf(onMaps, mode) }
	const (
		user, group, uid = impersonateUser, impersonateGroup, impersonateUID
		auth             = ".authentication.k8s.io"
	)
	for _, c := range []struct {
		name          string
		authenticated *request.User
		allowed       permissions
		headers       []string
		want          *request.User
		refusal       string
	}{
		{name: "no impersonation", want: bob},
		{name: "group alone", headers: []string{group, "dev"}, refusal: `400 requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"dev"}, Extra:map[string][]string(nil)} without impersonating a user name`},
		{name: "uid alone", headers: []string{uid, "7"}, refusal: `400 requested &user.DefaultInfo{Name:"", UID:"7", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name`},

		{name: "legacy user", allowed: permissions{"impersonate users jane"}, headers: []string{user, "jane"}, want: &request.User{Name: "jane", Groups: []string{"system:authenticated"}}},
		{name: "legacy with all", headers: []string{user, "jane", group, "dev", group, "ops", uid, "7", "Impersonate-Extra-Acme.com%2Fproject", "x", "Impersonate-Extra-Scopes", "view"},
			allowed: permissions{"impersonate users jane", "impersonate groups dev", "impersonate groups ops", "impersonate uids" + auth + " 7", "impersonate userextras" + auth + "/acme.com/project x", "impersonate userextras" + auth + "/scopes view"},
			want:    &request.User{Name: "jane", UID: "7", Groups: []string{"dev", "ops", "system:authenticated"}, Extra: map[string][]string{"acme.com/project": {"x"}, "scopes": {"view"}}}},
		{name: "legacy masters", allowed: permissions{"impersonate users jane", "impersonate groups system:masters"}, headers: []string{user, "jane", group, "system:masters"},
			want: &request.User{Name: "jane", Groups: []string{"system:masters", "system:authenticated"}}},
		{name: "legacy account", allowed: permissions{"impersonate serviceaccounts kube-system/default"}, headers: []string{user, "system:serviceaccount:kube-system:default"},
			want: &request.User{Name: "system:serviceaccount:kube-system:default", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}}},
		{name: "legacy account with groups", allowed: permissions{"impersonate serviceaccounts kube-system/default", "impersonate groups dev"}, headers: []string{user, "system:serviceaccount:kube-system:default", group, "dev"},
			want: &request.User{Name: "system:serviceaccount:kube-system:default", Groups: []string{"dev", "system:authenticated"}}},
		{name: "legacy anonymous", allowed: permissions{"impersonate users system:anonymous"}, headers: []string{user, "system:anonymous"},
			want: &request.User{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}},
		{name: "legacy unauthenticated", allowed: permissions{"impersonate users jane", "impersonate groups system:unauthenticated"}, headers: []string{user, "jane", group, "system:unauthenticated"},
			want: &request.User{Name: "jane", Groups: []string{"system:unauthenticated"}}},
		{name: "legacy node is a user", allowed: permissions{"impersonate users system:node:n1"}, headers: []string{user, "system:node:n1"},
			want: &request.User{Name: "system:node:n1", Groups: []string{"system:authenticated"}}},

		{name: "nothing allowed", headers: []string{user, "jane"},
			refusal: `403 configmaps is forbidden: User "bob" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "ns"`},
		{name: "account, nothing allowed", headers: []string{user, "system:serviceaccount:ns:a"},
			refusal: `403 configmaps is forbidden: User "bob" cannot impersonate-on:serviceaccount:list resource "configmaps" in API group "" in the namespace "ns"`},
		{name: "node with groups is neither node nor user", headers: []string{user, "system:node:n1", group, "x"},
			refusal: `403 users "system:node:n1" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope`},
		{name: "one group not allowed", allowed: permissions{"impersonate users jane", "impersonate groups dev"}, headers: []string{user, "jane", group, "dev", group, "ops"},
			refusal: `403 configmaps is forbidden: User "bob" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "ns"`},

		{name: "user-info", allowed: permissions{on("user-info"), "impersonate:user-info users" + auth + " jane"}, headers: []string{user, "jane"},
			want: &request.User{Name: "jane", Groups: []string{"system:authenticated"}}},
		{name: "user-info, not this resource", allowed: permissions{"impersonate:user-info users" + auth + " jane"}, headers: []string{user, "jane"},
			refusal: `403 configmaps is forbidden: User "bob" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "ns"`},
		{name: "user-info, not this user", allowed: permissions{on("user-info")}, headers: []string{user, "jane"},
			refusal: `403 users.authentication.k8s.io "jane" is forbidden: User "bob" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope`},
		{name: "user-info, masters", allowed: permissions{on("user-info"), "impersonate:user-info users" + auth + " jane", "impersonate:user-info groups" + auth + " system:masters"}, headers: []string{user, "jane", group, "system:masters"},
			refusal: `403 groups.authentication.k8s.io "system:masters" is forbidden: User "bob" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed`},
		{name: "user-info, many groups at once", allowed: permissions{on("user-info"), "impersonate:user-info users" + auth + " jane", "impersonate:user-info groups" + auth + " *"},
			headers: []string{user, "jane", group, "a", group, "b", group, "c", group, "d"}, want: &request.User{Name: "jane", Groups: []string{"a", "b", "c", "d", "system:authenticated"}}},
		{name: "user-info, bad extra", allowed: permissions{on("user-info"), "impersonate:user-info users" + auth + " jane"}, headers: []string{user, "jane", "Impersonate-Extra-Scopes", "view"},
			refusal: `403 userextras.authentication.k8s.io is forbidden: User "bob" cannot impersonate:user-info resource "userextras" in API group "authentication.k8s.io" at the cluster scope: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a domain-prefixed path (such as "acme.io/foo")`},
		{name: "serviceaccount", allowed: permissions{on("serviceaccount"), "impersonate:serviceaccount serviceaccounts" + auth + " ns/a"}, headers: []string{user, "system:serviceaccount:ns:a"},
			want: &request.User{Name: "system:serviceaccount:ns:a", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"}}},
		{name: "arbitrary-node", allowed: permissions{on("arbitrary-node"), "impersonate:arbitrary-node nodes" + auth + " n1"}, headers: []string{user, "system:node:n1"},
			want: &request.User{Name: "system:node:n1", Groups: []string{"system:nodes", "system:authenticated"}}},
		{name: "associated-node", authenticated: pod, allowed: permissions{on("associated-node"), "impersonate:associated-node nodes" + auth + " *"}, headers: []string{user, "system:node:n1"},
			want: &request.User{Name: "system:node:n1", Groups: []string{"system:nodes", "system:authenticated"}}},
		{name: "associated-node, another's", authenticated: pod, allowed: permissions{on("associated-node"), "impersonate:associated-node nodes" + auth + " *"}, headers: []string{user, "system:node:n2"},
			refusal: `403 configmaps is forbidden: User "system:serviceaccount:ns:agent" cannot impersonate-on:arbitrary-node:list resource "configmaps" in API group "" in the namespace "ns"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			authenticated := c.authenticated
			if authenticated == nil {
				authenticated = bob
			}
			got, impersonator, refusal := impersonated(t, authenticated, append(c.allowed, "*"), c.headers...)
			if refusal != c.refusal {
				t.Fatalf("got %s\nwant %s", refusal, c.refusal)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v", got)
			}
			if len(c.headers) > 0 && got != nil && impersonator.Name != authenticated.Name {
				t.Errorf("by %+v", impersonator)
			}
		})
	}
}

// TestImpersonationRemembersMode checks that the mode that allowed the previous request is
// tried first, so that its error is the one that the client gets.
func TestImpersonationRemembersMode(t *testing.T) {
	modes := newImpersonationModes(permissions{"impersonate users jane"}, newTestMetrics(), true)
	scope := &request.Scope{User: &request.User{Name: "bob"}, Info: request.Info{IsResource: true, Verb: "list", Version: "v1", Resource: "configmaps"}}
	refusal := func() string {
		_, _, err := modes.user(t.Context(), scope, &request.User{Name: "june"})
		return err.Error()
	}
	if got := refusal(); !strings.Contains(got, "impersonate-on:user-info") {
		t.Errorf("got %s", got)
	}
	if _, mode, err := modes.user(t.Context(), scope, &request.User{Name: "jane"}); err != nil || mode != modeLegacy {
		t.Errorf("got %s, %v", mode, err)
	}
	if got := refusal(); !strings.HasPrefix(got, `users "june" is forbidden`) {
		t.Errorf("got %s", got)
	}
	for i := range maxLastModes {
		modes.last.Add(fmt.Sprint(i), 0)
	}
	if n := modes.last.Len(); n > maxLastModes {
		t.Errorf("%d users are remembered", n)
	}
}

func newTestMetrics() *impersonationMetrics { return newImpersonationMetrics(&metricset.Set{}) }

// TestUnconstrainedImpersonation checks that the permissions of constrained impersonation allow
// nothing if the server does not have it.
func TestUnconstrainedImpersonation(t *testing.T) {
	allowed := permissions{"impersonate-on:user-info:list configmaps ns/", "impersonate:user-info users.authentication.k8s.io jane", "impersonate users june"}
	modes := newImpersonationModes(allowed, newTestMetrics(), false)
	scope := &request.Scope{User: &request.User{Name: "bob"}, Info: request.Info{IsResource: true, Verb: "list", Version: "v1", Resource: "configmaps", Namespace: "ns"}}
	if _, _, err := modes.user(t.Context(), scope, &request.User{Name: "jane"}); err == nil || !strings.HasPrefix(err.Error(), `users "jane" is forbidden: User "bob" cannot impersonate resource "users"`) {
		t.Errorf("got %v", err)
	}
	if _, mode, err := modes.user(t.Context(), scope, &request.User{Name: "june"}); err != nil || mode != modeLegacy {
		t.Errorf("got %s, %v", mode, err)
	}
}

// TestImpersonationWithoutUser checks the message without constrained impersonation.
func TestImpersonationWithoutUser(t *testing.T) {
	for want, header := range map[string]http.Header{
		"[{Group  dev    } {Group  ops    }]":                 {impersonateGroup: {"dev", "ops"}},
		"[{UID  1  authentication.k8s.io/v1  }]":              {impersonateUID: {"1"}},
		"[{UserExtra  a  authentication.k8s.io/v1  a.b/c d}]": {impersonateExtra + "A.b%2fc%20d": {"a"}},
	} {
		_, err := impersonatedUser(header, false)
		if want = "requested " + want + " without impersonating a user"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
