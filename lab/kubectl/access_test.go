package kubectl

import (
	"strings"
	"testing"

	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newAccess returns a server with roles and bindings.
func newAccess(t *testing.T) *fake {
	t.Helper()
	f := newFake(t)
	set := func(path string, items any) {
		f.answers["/apis/rbac.authorization.k8s.io/v1/"+path] = map[string]any{"items": items}
	}
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	set("clusterroles", []rbac.ClusterRole{
		{ObjectMeta: meta("", "admin"), Rules: []rbac.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, {Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}}},
		{ObjectMeta: meta("", "view"), Rules: []rbac.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{"", "apps"}, Resources: []string{"pods", "deployments"}}}},
		{ObjectMeta: meta("", "execs"), Rules: []rbac.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"*/exec"}}}},
		{ObjectMeta: meta("", "metrics"), Rules: []rbac.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics/*", "/metrics"}}}},
	})
	user := func(name string) rbac.Subject {
		return rbac.Subject{Kind: "User", APIGroup: rbac.GroupName, Name: name}
	}
	set("clusterrolebindings", []rbac.ClusterRoleBinding{
		{ObjectMeta: meta("", "admins"), Subjects: []rbac.Subject{{Kind: "Group", Name: "system:masters"}}, RoleRef: roleRef("ClusterRole", "admin")},
		{ObjectMeta: meta("", "monitoring"), Subjects: []rbac.Subject{{Kind: "ServiceAccount", Namespace: "mon", Name: "prom"}}, RoleRef: roleRef("ClusterRole", "metrics")},
		{ObjectMeta: meta("", "lost"), Subjects: []rbac.Subject{user("nobody")}, RoleRef: roleRef("ClusterRole", "none")},
	})
	inShop := []rbac.RoleBinding{
		{ObjectMeta: meta("shop", "viewers"), Subjects: []rbac.Subject{{Kind: "Group", Name: "dev"}, user("jane"), {Kind: "ServiceAccount", Name: "bot"}}, RoleRef: roleRef("ClusterRole", "view")},
		{ObjectMeta: meta("shop", "one"), Subjects: []rbac.Subject{user("joe")}, RoleRef: roleRef("Role", "one-pod")},
	}
	elsewhere := rbac.RoleBinding{ObjectMeta: meta("other", "execs"), Subjects: []rbac.Subject{user("eve")}, RoleRef: roleRef("ClusterRole", "execs")}
	set("namespaces/shop/rolebindings", inShop)
	set("rolebindings", append(inShop, elsewhere))
	roles := []rbac.Role{{ObjectMeta: meta("shop", "one-pod"), Rules: []rbac.PolicyRule{{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"p"}}}}}
	set("namespaces/shop/roles", roles)
	set("roles", roles)
	return f
}

// TestWhoCan checks the subjects for actions of each form.
func TestWhoCan(t *testing.T) {
	f := newAccess(t)
	for args, want := range map[string]string{
		"list pods -n shop":                        "Group/dev Group/system:masters ServiceAccount/shop/bot User/jane",
		"list po -n shop":                          "Group/dev Group/system:masters ServiceAccount/shop/bot User/jane",
		"list secrets -n shop":                     "Group/system:masters",
		"delete pods -n shop":                      "Group/system:masters",
		"delete pods p -n shop":                    "Group/system:masters User/joe",
		"delete pod/p -n shop":                     "Group/system:masters User/joe",
		"delete pod/q -n shop":                     "Group/system:masters",
		"create pods --subresource exec -n shop":   "Group/system:masters",
		"create pods --subresource exec -A":        "Group/system:masters User/eve",
		"get /metrics":                             "Group/system:masters ServiceAccount/mon/prom",
		"get /metrics/cadvisor":                    "Group/system:masters ServiceAccount/mon/prom",
		"get /healthz":                             "Group/system:masters",
		"GET deploy -n shop":                       "Group/dev Group/system:masters ServiceAccount/shop/bot User/jane",
		"get no":                                   "Group/system:masters",
		"get pods --subresource nope -n shop":      "Group/system:masters",
		"impersonate nodes":                        "Group/system:masters",
		"list deployers.example.com -n shop":       "Group/system:masters",
		"create pods --subresource status -n shop": "Group/system:masters",
	} {
		got := f.run(append([]string{"who-can"}, strings.Fields(args)...)...)
		var subjects []string
		for line := range strings.Lines(got.stdout) {
			if cells := strings.Fields(line); cells[0] != "KIND" {
				subjects = append(subjects, cells[0]+"/"+cells[1])
			}
		}
		if strings.Join(subjects, " ") != want || got.code != 0 {
			t.Errorf("%s: %v, want %s: %+v", args, subjects, want, got)
		}
	}
	golden(t, "who-can.txt", f.run("who-can", "list", "pods", "-n", "shop").stdout)
	if got := f.run("who-can", "list", "pods", "-n", "shop", "-o", "json"); !strings.Contains(got.stdout, `"binding": "RoleBinding shop/viewers"`) {
		t.Errorf("%+v", got)
	}
	if got := f.run("who-can", "frob", "pods", "-n", "shop"); !strings.Contains(got.stderr, "note: pods has the verbs create, delete") {
		t.Errorf("%+v", got)
	}
	f.answers["/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"] = `{"items":[]}`
	if got := f.run("who-can", "get", "no"); got.stderr != "note: RBAC allows nobody to get nodes\n" || got.code != 0 {
		t.Errorf("%+v", got)
	}
	for _, args := range []string{"", "get", "get a b c", "get pods/a b", "get /metrics --subresource x"} {
		if got := f.run(append([]string{"who-can"}, strings.Fields(args)...)...); got.code != 1 {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

const rules = `{"status":{"incomplete":true,"evaluationError":"webhook","resourceRules":[
{"verbs":["get","list"],"apiGroups":["","apps"],"resources":["pods","deployments"]},
{"verbs":["delete"],"apiGroups":[""],"resources":["pods"],"resourceNames":["p"]}],
"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/a","/b","/c","/d","/e"]}]}}`

// TestCan checks whom the command impersonates, and the table of rules with their bindings.
func TestCan(t *testing.T) {
	f := newAccess(t)
	f.created["/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"] = rules
	got := f.run("can", "jane", "--as-group", "dev", "--as-group", "ops", "-n", "shop")
	golden(t, "can.txt", got.stdout)
	if got.stderr != "note: the list is not complete: webhook\n" || got.code != 0 {
		t.Errorf("%+v", got)
	}
	if !f.sent("selfsubjectrulesreviews as jane dev,ops") || f.sent("rolebindings?limit=500 as jane") {
		t.Errorf("%q", f.seen)
	}
	if f.run("can", "sa/ci:bot", "-n", "shop"); !f.sent("selfsubjectrulesreviews as system:serviceaccount:ci:bot") {
		t.Errorf("%q", f.seen)
	}
	if got := f.run("can", "-n", "shop", "-o", "yaml"); !strings.Contains(got.stdout, "incomplete: true") {
		t.Errorf("%+v", got)
	}
	f.answers["/apis/rbac.authorization.k8s.io/v1/clusterroles"] = status(403, metav1.StatusReasonForbidden, "forbidden", "")
	if got := f.run("can", "jane", "-n", "shop"); !strings.Contains(got.stderr, "note: the bindings are not shown: forbidden; A role") || got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := f.run("can", "jane", "--as", "joe"); got.code != 1 || !strings.Contains(got.stderr, "--as: can impersonates jane") {
		t.Errorf("%+v", got)
	}
	f.created["/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"] = "{}"
	if got := f.run("can", "jane"); !strings.Contains(got.stderr, "note: the user may do nothing") {
		t.Errorf("%+v", got)
	}
}

// TestCovers checks when a rule is at least another one.
func TestCovers(t *testing.T) {
	rule := func(verbs, groups, resources, names, urls string) *rbac.PolicyRule {
		list := func(text string) []string { return strings.Fields(text) }
		return &rbac.PolicyRule{Verbs: list(verbs), APIGroups: list(groups), Resources: list(resources), ResourceNames: list(names), NonResourceURLs: list(urls)}
	}
	for i, c := range []struct {
		a, b *rbac.PolicyRule
		want bool
	}{
		{rule("*", "*", "*", "", ""), rule("get", "apps", "pods", "", ""), true},
		{rule("get", "apps", "pods", "", ""), rule("get list", "apps", "pods", "", ""), false},
		{rule("get", "apps", "pods", "a", ""), rule("get", "apps", "pods", "", ""), false},
		{rule("get", "apps", "pods", "a b", ""), rule("get", "apps", "pods", "a", ""), true},
		{rule("get", "apps", "pods", "b", ""), rule("get", "apps", "pods", "a", ""), false},
		{rule("get", "apps", "*/scale", "", ""), rule("get", "apps", "pods/scale", "", ""), true},
		{rule("get", "", "", "", "/a /b"), rule("get", "", "", "", "/a"), true},
		{rule("get", "", "", "", "/a"), rule("get", "apps", "pods", "", ""), false},
		{rule("*", "*", "*", "", ""), rule("get", "", "", "", "/a"), false},
	} {
		if got := covers(c.a, c.b); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}
