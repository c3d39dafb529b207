package kubectl

import (
	"strings"
	"testing"

	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// TestExplain compares the accounts of requests of each kind with files.
func TestExplain(t *testing.T) {
	f := newFake(t)
	f.requests = sampleRequests()
	for name, id := range map[string]string{"created": createdID, "denied": deniedID, "conflict": conflictID, "policy": policyID, "watch": watchID} {
		got := f.run("explain", id)
		if got.code != 0 || got.stderr != "" {
			t.Errorf("%s: %+v", name, got)
		}
		if strings.Contains(got.stdout, "\x1b") {
			t.Errorf("%s has an escape sequence of a client", name)
		}
		golden(t, "explain-"+name+".txt", got.stdout)
	}
	if got := f.run("explain", "last"); !strings.Contains(got.stdout, "Owners of fields") {
		t.Errorf("last is without details: %+v", got)
	}
	if got := f.run("explain", createdID, "-o", "yaml"); !strings.Contains(got.stdout, "\nkind: Request\n") {
		t.Errorf("%+v", got)
	}
}

// TestFind checks the ways to name a request.
func TestFind(t *testing.T) {
	for args, want := range map[string]string{
		"000000000003":                    conflictID,
		"3333":                            conflictID,
		"last":                            policyID,
		"last --failed":                   policyID,
		"--failed":                        policyID,
		"nope":                            `the server has no request "nope"`,
		"0000":                            "",
		"-":                               `the server has no request "-"`,
		"":                                "explain needs the name of a request",
		"a b":                             "explain needs the name of a request",
		"33333333 --failed":               "--failed selects among your requests",
		"last --suggest-role":             "no role would help: admission policy refused request 00000004",
		createdID + " --suggest-role":     "request 00000002 was not refused: the server answered 201 Created",
		"0000-4000-8000-00000000000":      "",
		"00000000-0000-0000-0000-0000000": "",
	} {
		f := newFake(t)
		f.requests = sampleRequests()
		got := f.run(append([]string{"explain"}, strings.Fields(args)...)...)
		if !strings.Contains(got.stdout+got.stderr, want) || want == "" && got.code == 0 {
			t.Errorf("%q: %+v, want %q", args, got, want)
		}
	}
	f := newFake(t)
	f.requests = sampleRequests()
	for i := range f.requests {
		if f.requests[i].Name == deniedID { // jane as another user
			f.requests[i].Spec.Impersonator, f.requests[i].Spec.UserAgent = "jane", "kubectl/1"
			f.requests[i].Spec.Time = metav1.NewMicroTime(now)
		}
	}
	if got := f.run("explain", "last", "--failed"); !strings.Contains(got.stdout, deniedID) {
		t.Errorf("%+v", got)
	}
	f.requests = sampleRequests()
	f.requests[2].Name = "33333333-0000-4000-8000-000000000002"
	if got := f.run("explain", "00000002"); got.code != 1 || !strings.Contains(got.stderr, "several requests begin or end") {
		t.Errorf("%+v", got)
	}
	f.requests = f.requests[:2]
	if got := f.run("explain", "last", "--failed"); !strings.Contains(got.stderr, "no request of jane failed") {
		t.Errorf("%+v", got)
	}
	f.requests = f.requests[1:]
	if got := f.run("explain", "last"); !strings.Contains(got.stderr, "the server remembers no request of jane") {
		t.Errorf("%+v", got)
	}
}

// TestShortRule checks that a rule for many resources stays a line.
func TestShortRule(t *testing.T) {
	m := &v1alpha1.MissingPermission{Group: "apps", Resource: "deployments"}
	for rule, want := range map[string]string{
		"get pods in namespace a":           "get pods in namespace a",
		"get a,b,c,d in namespace a":        "get a,b,c,d in namespace a",
		"get,list a,b,c,d,e in namespace a": "get,list a,b,c and 2 more in namespace a",
		"get a,b,c,d,deployments.apps":      "get deployments.apps and 4 more",
		"get":                               "get",
		"":                                  "",
	} {
		if got := shortRule(rule, m); got != want {
			t.Errorf("%q: %q, want %q", rule, got, want)
		}
	}
}

// TestSuggestRole checks the roles for each form of a permission.
func TestSuggestRole(t *testing.T) {
	for _, c := range []struct {
		user    string
		missing v1alpha1.MissingPermission
		rule    rbac.PolicyRule
		kind    string
		name    string
		subject rbac.Subject
	}{
		{"jane", v1alpha1.MissingPermission{Verb: "get", Group: "apps", Resource: "deployments/scale", Namespace: "shop", Name: "web"},
			rbac.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{"web"}},
			"Role", "lab-get-deployments-scale-jane", rbac.Subject{Kind: "User", APIGroup: rbac.GroupName, Name: "jane"}},
		{"system:serviceaccount:ci:bot", v1alpha1.MissingPermission{Verb: "create", Resource: "nodes", Name: "n"},
			rbac.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
			"ClusterRole", "lab-create-nodes-ci-bot", rbac.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "bot"}},
		{"Jane Doe@example.com", v1alpha1.MissingPermission{Verb: "create", Resource: "pods/exec", Namespace: "a", Name: "p"},
			rbac.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"pods/exec"}, ResourceNames: []string{"p"}},
			"Role", "lab-create-pods-exec-jane-doe-example.com", rbac.Subject{Kind: "User", APIGroup: rbac.GroupName, Name: "Jane Doe@example.com"}},
		{"x", v1alpha1.MissingPermission{Verb: "get", Path: "/metrics"},
			rbac.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}},
			"ClusterRole", "lab-get-metrics-x", rbac.Subject{Kind: "User", APIGroup: rbac.GroupName, Name: "x"}},
	} {
		r := &v1alpha1.Request{Spec: v1alpha1.RequestSpec{User: c.user},
			Status: v1alpha1.RequestStatus{Cause: &v1alpha1.Cause{By: v1alpha1.CauseAuthorization, Missing: &c.missing}}}
		text, err := roleFor(r)
		if err != nil {
			t.Fatal(err)
		}
		role, binding, found := strings.Cut(text, "---\n")
		var gotRole rbac.ClusterRole
		var gotBinding rbac.ClusterRoleBinding
		if !found || yaml.UnmarshalStrict([]byte(role), &gotRole) != nil || yaml.UnmarshalStrict([]byte(binding), &gotBinding) != nil {
			t.Fatalf("not two objects:\n%s", text)
		}
		want := rbac.ClusterRole{TypeMeta: typeMeta(c.kind), ObjectMeta: metav1.ObjectMeta{Name: c.name, Namespace: c.missing.Namespace}, Rules: []rbac.PolicyRule{c.rule}}
		if !equalJSON(t, gotRole, want) {
			t.Errorf("%s: got\n%s", c.user, role)
		}
		wantBinding := rbac.ClusterRoleBinding{TypeMeta: typeMeta(c.kind + "Binding"), ObjectMeta: want.ObjectMeta, Subjects: []rbac.Subject{c.subject}, RoleRef: roleRef(c.kind, c.name)}
		if !equalJSON(t, gotBinding, wantBinding) {
			t.Errorf("%s: got\n%s", c.user, binding)
		}
		a := &action{verb: c.missing.Verb, group: c.missing.Group, resource: c.missing.Resource, name: c.missing.Name, path: c.missing.Path}
		if a.verb == "create" && !strings.Contains(a.resource, "/") {
			a.name = ""
		}
		if !allows(&gotRole.Rules[0], a) {
			t.Errorf("%s: the role does not allow it", text)
		}
	}
}

// TestSuggestRoleForImpersonator checks that it is the impersonator who lacks the permission to impersonate.
func TestSuggestRoleForImpersonator(t *testing.T) {
	text, err := roleFor(&v1alpha1.Request{Spec: v1alpha1.RequestSpec{User: "root", Impersonator: "jane"}, Status: v1alpha1.RequestStatus{
		Cause: &v1alpha1.Cause{By: v1alpha1.CauseImpersonation, Missing: &v1alpha1.MissingPermission{Verb: "impersonate", Resource: "users", Name: "root"}}}})
	if err != nil || !strings.HasPrefix(text, `# allows "jane" to impersonate users "root"`) || !strings.Contains(text, "name: jane\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := yaml.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

// TestErrors checks what a user can do about errors of the server.
func TestErrors(t *testing.T) {
	f := newFake(t)
	for _, args := range [][]string{{"requests"}, {"requests", "-w"}, {"explain", "x"}, {"explain", "last"}, {"history", "deployment/web"}, {"blame", "deployment/web"},
		{"diff", "deployment/web"}, {"watches"}, {"top"}} {
		if got := f.run(args...); got.code != 1 || got.stderr != "error: this server has no lab; start it with --lab\n" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	f.answers[labPath+"requests"] = status(403, metav1.StatusReasonForbidden, "requests is forbidden", "")
	const rule = "error: requests is forbidden\n  A role of yours needs the rule: {apiGroups: [\"lab.miniapiserver.io\"], resources: [requests], verbs: [get, list, watch]}\n"
	if got := f.run("requests"); got.code != 1 || got.stderr != rule {
		t.Errorf("%+v", got)
	}
	const dump = "/debug/api_priority_and_fairness/dump_priority_levels"
	f.answers[dump] = status(403, metav1.StatusReasonForbidden, "forbidden", "")
	if got := f.run("levels"); !strings.Contains(got.stderr, `{nonResourceURLs: ["`+dump+`"], verbs: [get]}`) {
		t.Errorf("%+v", got)
	}
	f.answers["/api"] = status(401, metav1.StatusReasonUnauthorized, "Unauthorized", "")
	if got := f.run("who-can", "get", "pods"); !strings.Contains(got.stderr, "does not accept the credentials") {
		t.Errorf("%+v", got)
	}
	f.Close()
	if got := f.run("requests"); got.code != 1 || !strings.Contains(got.stderr, "refused") {
		t.Errorf("%+v", got)
	}
}
