package authz

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

const nearRoles = `
clusterrole reader
  core pods,services get,list
  path /logs,/files/* get
clusterrole scaler
  apps deployments/scale get,update
  apps deployments get
clusterrole old
  extensions ingresses get,list,watch
clusterrole statuses
  batch */status patch
role a/config
  core configmaps get,update one,two
  core secrets *
role b/config
  core configmaps list
role b/all
  * * *
clusterrolebinding readers reader user:alice group:dev
clusterrolebinding scalers scaler user:alice
clusterrolebinding olds old user:olaf
clusterrolebinding patchers statuses user:pat
clusterrolebinding lost missing user:lost
rolebinding a/config config user:bob group:ops
rolebinding b/config config user:bob
rolebinding b/all all user:boss
rolebinding c/gone gone user:lost
`

// TestNearest checks the nearest rule of denied requests, and what it lacks.
func TestNearest(t *testing.T) {
	r := rbacOf(nearRoles)
	const (
		readers = "ClusterRoleBinding readers, ClusterRole reader: get,list pods,services"
		paths   = "ClusterRoleBinding readers, ClusterRole reader: get /logs,/files/*"
		named   = "RoleBinding a/config, Role a/config: get,update configmaps named one,two in namespace a"
	)
	for _, c := range []struct{ user, method, path, want string }{
		{"alice", "DELETE", "/api/v1/namespaces/x/pods/p", readers + " lacks verb"},
		{"alice", "GET", "/api/v1/pods?watch=1", readers + " lacks verb"},
		{"alice", "GET", "/api/v1/namespaces/x/pods/p/log", readers + " lacks resource"},
		{"alice", "POST", "/api/v1/namespaces/x/pods/p/exec", readers + " lacks verb,resource"},
		{"alice", "GET", "/api/v1/namespaces/x/secrets/s", readers + " lacks resource"},
		{"alice", "GET", "/apis/metrics.k8s.io/v1/pods", readers + " lacks group"},
		{"alice", "DELETE", "/apis/metrics.k8s.io/v1/pods", readers + " lacks verb,group"},
		{"alice", "DELETE", "/api/v1/namespaces/x/secrets/s", ""}, // no rule has more than the group in common
		{"alice", "PUT", "/apis/apps/v1/namespaces/x/deployments/d",
			"ClusterRoleBinding scalers, ClusterRole scaler: get deployments.apps lacks verb"},
		{"alice", "PATCH", "/apis/apps/v1/namespaces/x/deployments/d/scale",
			"ClusterRoleBinding scalers, ClusterRole scaler: get,update deployments/scale.apps lacks verb"},
		{"alice", "GET", "/apis/apps/v1/namespaces/x/statefulsets/s",
			"ClusterRoleBinding scalers, ClusterRole scaler: get,update deployments/scale.apps lacks resource"},
		{"alice", "POST", "/logs", paths + " lacks verb"},
		{"alice", "GET", "/logs/apiserver", paths + " lacks path"},
		{"alice", "GET", "/files", paths + " lacks path"},
		{"alice", "GET", "/metrics", paths + " lacks path"},
		{"alice", "POST", "/metrics", ""},
		{"olaf", "GET", "/apis/networking.k8s.io/v1/ingresses",
			"ClusterRoleBinding olds, ClusterRole old: get,list,watch ingresses.extensions lacks group"},
		{"olaf", "GET", "/apis/apps/v1/deployments", ""},
		{"pat", "PUT", "/apis/batch/v1/namespaces/x/jobs/j/status",
			"ClusterRoleBinding patchers, ClusterRole statuses: patch */status.batch lacks verb"},
		{"bob", "GET", "/api/v1/namespaces/a/configmaps/three", named + " lacks name"},
		{"bob", "GET", "/api/v1/namespaces/b/configmaps/one", named + " lacks namespace"},
		{"bob", "GET", "/api/v1/namespaces/a/configmaps",
			"RoleBinding b/config, Role b/config: list configmaps in namespace b lacks namespace"},
		{"bob", "GET", "/api/v1/configmaps", "RoleBinding b/config, Role b/config: list configmaps in namespace b lacks namespace"},
		{"bob", "GET", "/api/v1/namespaces/b/secrets/s", "RoleBinding a/config, Role a/config: * secrets in namespace a lacks namespace"},
		{"bob", "GET", "/metrics", ""},
		{"boss", "GET", "/api/v1/namespaces/a/pods", "RoleBinding b/all, Role b/all: * *.* in namespace b lacks namespace"},
		{"boss", "GET", "/api/v1/nodes", "RoleBinding b/all, Role b/all: * *.* in namespace b lacks namespace"},
		{"lost", "GET", "/api/v1/pods", ""}, // its roles are missing
		{"nobody", "GET", "/api/v1/pods", ""},
		{"dev", "GET", "/api/v1/pods?watch=1", ""}, // a user with the name of a group
		{"eve dev", "GET", "/api/v1/pods?watch=1", readers + " lacks verb"},
		{"eve ops", "DELETE", "/api/v1/namespaces/b/configmaps/one", named + " lacks namespace,verb"},
	} {
		names := strings.Fields(c.user)
		user := &request.User{Name: names[0], Groups: names[1:]}
		info := request.Parse(httptest.NewRequest(c.method, c.path, nil))
		if got, _, _ := r.Authorize(t.Context(), user, &info); got == Allow {
			t.Errorf("%s %s %s is allowed", c.user, c.method, c.path)
		}
		if by, ok := r.AllowedBy(t.Context(), user, &info); ok {
			t.Errorf("%s %s %s is allowed by %v", c.user, c.method, c.path, by)
		}
		got := ""
		if near := r.Nearest(t.Context(), user, &info); len(near) > 0 {
			got = fmt.Sprintf("%s, %s: %s lacks %s", near[0].Binding, near[0].Role, near[0].Rule, strings.Join(near[0].Lacks, ","))
		}
		if got != c.want {
			t.Errorf("%s %s %s:\n got %s\nwant %s", c.user, c.method, c.path, got, c.want)
		}
	}
	if near := r.Nearest(t.Context(), nil, &request.Info{}); near != nil {
		t.Errorf("without a user: %v", near)
	}
}

// TestNearestOrder checks that nearer rules come first, that there are at most five, and that the same rule in other namespaces is
// one of them.
func TestNearestOrder(t *testing.T) {
	text := "clusterrole far\n  core secrets list\nclusterrole verb\n  core pods get\nclusterrole sub\n  core pods/log list\n" +
		"clusterrole group\n  apps pods list\nclusterrole two\n  apps pods get\nclusterrole named\n  core pods list x\n" +
		"clusterrolebinding 1 far user:u\nclusterrolebinding 2 two user:u\nclusterrolebinding 3 group user:u\n" +
		"clusterrolebinding 4 sub user:u\nclusterrolebinding 5 verb user:u\nclusterrolebinding 6 named user:u\n"
	r := rbacOf(text)
	x, subjects := r.index, []rbacv1.Subject{{Kind: "User", Name: "u"}}
	for _, namespace := range []string{"n1", "n2", "n3"} {
		x.bind(&x.bindings, namespace+"/b", namespace, rbacv1.RoleRef{Kind: "ClusterRole", Name: "verb"}, subjects)
		x.clusterRoles.set("near", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}})
		x.bind(&x.bindings, namespace+"/c", namespace, rbacv1.RoleRef{Kind: "ClusterRole", Name: "near"}, subjects)
	}
	info := request.Parse(httptest.NewRequest("GET", "/api/v1/pods", nil))
	var got []string
	for _, near := range r.Nearest(t.Context(), &request.User{Name: "u"}, &info) {
		got = append(got, fmt.Sprint(near.Binding, near.Lacks))
	}
	want := "RoleBinding n1/c[namespace]; ClusterRoleBinding 6[name]; ClusterRoleBinding 5[verb]; " +
		"ClusterRoleBinding 4[resource]; RoleBinding n1/b[namespace verb]"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestAllowedBy checks the binding, the role and the rule that allow a request.
func TestAllowedBy(t *testing.T) {
	r := rbacOf(nearRoles)
	for _, c := range []struct{ user, path, want string }{
		{"alice", "/apis/apps/v1/namespaces/x/deployments/d", "ClusterRoleBinding scalers, ClusterRole scaler, rule 1: get deployments.apps"},
		{"alice", "/files/a", "ClusterRoleBinding readers, ClusterRole reader, rule 1: get /logs,/files/*"},
		{"bob", "/api/v1/namespaces/a/secrets/s", "RoleBinding a/config, Role a/config, rule 1: * secrets in namespace a"},
		{"boss", "/api/v1/namespaces/b/pods", "RoleBinding b/all, Role b/all, rule 0: * *.* in namespace b"},
	} {
		info := request.Parse(httptest.NewRequest("GET", c.path, nil))
		by, ok := r.AllowedBy(t.Context(), &request.User{Name: c.user}, &info)
		if got := fmt.Sprintf("%s, %s, rule %d: %s", by.Binding, by.Role, by.Index, by.Rule); !ok || got != c.want || by.Lacks != nil {
			t.Errorf("%s %s: got %s, %v", c.user, c.path, got, by.Lacks)
		}
	}
	if _, ok := r.AllowedBy(t.Context(), nil, &request.Info{}); ok {
		t.Error("allowed without a user")
	}
}

// TestNearestIsBounded checks that a search ends at the bound of its work, and that it has found the rules of the request's own
// namespace by then.
func TestNearestIsBounded(t *testing.T) {
	x := newRBACIndex()
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprint("things", i)
	}
	user := []rbacv1.Subject{{Kind: "User", Name: "u"}}
	const roles = 50
	for i := range roles {
		x.clusterRoles.set(fmt.Sprint("r", i), []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: many, Verbs: []string{"get"}}})
	}
	for i := range 10_000 {
		name, namespace := fmt.Sprint("r", i%roles), fmt.Sprint("n", i)
		x.bind(&x.bindings, namespace+"/b", namespace, rbacv1.RoleRef{Kind: "ClusterRole", Name: name}, user)
	}
	s := nearSearch{info: &request.Info{IsResource: true, Verb: "get", Resource: "pods", Namespace: "n9999"}, left: maxNearWork}
	for i := range 10_000 {
		s.scan(x.bindings.grantsOf(&request.User{Name: "u"}, fmt.Sprint("n", i)))
	}
	if s.left > 0 || s.left < -2*len(many)-10 {
		t.Errorf("%d left of the work, want a search that ended with the rule that used it up", s.left)
	}
	near := (&RBAC{index: x}).Nearest(t.Context(), &request.User{Name: "u"}, s.info)
	if len(near) != maxNearRules || near[0].Binding != "RoleBinding n9999/b" || len(near[0].Lacks) != 1 {
		t.Errorf("got %d rules, the first %+v", len(near), near[0])
	}
	if n := len(near[0].Rule); n > maxRuleText+64 || !strings.Contains(near[0].Rule, "… in namespace n9999") {
		t.Errorf("a text of %d bytes: %s", n, near[0].Rule)
	}
}
