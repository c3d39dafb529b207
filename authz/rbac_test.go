package authz

import (
	"fmt"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// rbacOf returns an authorizer by roles and bindings in the format of bootstrap.txt.
func rbacOf(text string) *RBAC {
	x := newRBACIndex()
	for _, obj := range parsePolicy(text, features.Default()) {
		switch obj := obj.(type) {
		case *rbacv1.ClusterRole:
			x.clusterRoles.set(obj.Name, obj.Rules)
		case *rbacv1.Role:
			x.roles.set(obj.Namespace+"/"+obj.Name, obj.Rules)
		case *rbacv1.ClusterRoleBinding:
			x.bind(&x.clusterBindings, obj.Name, "", obj.RoleRef, obj.Subjects)
		case *rbacv1.RoleBinding:
			x.bind(&x.bindings, obj.Namespace+"/"+obj.Name, obj.Namespace, obj.RoleRef, obj.Subjects)
		}
	}
	return &RBAC{index: x}
}

const someRoles = `
clusterrole reader
  core pods,*/status get,list
  path /logs,/files/* get
clusterrole everything
  * * *
role ns/named
  core configmaps get,update,list a
role ns/subs
  apps deployments/scale,statefulsets patch
clusterrolebinding readers reader user:alice group:dev
clusterrolebinding all everything account:robot
clusterrolebinding lost missing user:lost
rolebinding ns/named named user:bob
rolebinding ns/subs subs group:ops
rolebinding ns/gone gone user:lost user:alice
rolebinding ns/twice subs group:first user:carol group:second user:carol
`

func TestRBAC(t *testing.T) {
	r := rbacOf(someRoles)
	robot := "system:serviceaccount:kube-system:robot"
	for _, c := range []struct {
		user, groups, method, path string
		want                       Decision
		reason                     string
	}{
		{"alice", "", "GET", "/api/v1/pods", Allow, `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to User "alice"`},
		{"eve", "qa dev", "GET", "/api/v1/namespaces/x/pods/p", Allow, `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "dev"`},
		{"eve", "qa", "GET", "/api/v1/pods", NoOpinion, ""},
		{"dev", "", "GET", "/api/v1/pods", NoOpinion, ""},      // the group of that name does not match
		{"eve", "alice", "GET", "/api/v1/pods", NoOpinion, ""}, // nor does the user of that name
		{"eve", "dev", "GET", "/api/v1/pods?watch=1", NoOpinion, ""},
		{"eve", "dev", "DELETE", "/api/v1/namespaces/x/pods/p", NoOpinion, ""},
		{"eve", "dev", "GET", "/apis/apps/v1/pods", NoOpinion, ""},              // another group
		{"eve", "dev", "GET", "/api/v1/namespaces/x/pods/p/log", NoOpinion, ""}, // the resource does not include its subresources
		{"eve", "dev", "GET", "/api/v1/namespaces/x/replicationcontrollers/p/status", Allow, `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "dev"`},
		{"eve", "dev", "GET", "/api/v1/namespaces/x/replicationcontrollers/p", NoOpinion, ""}, // nor does a subresource include the resource
		{"eve", "dev", "GET", "/logs", Allow, `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "dev"`},
		{"eve", "dev", "GET", "/logs/", NoOpinion, ""},
		{"eve", "dev", "GET", "/files/a/b", Allow, `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "dev"`},
		{"eve", "dev", "GET", "/files", NoOpinion, ""},
		{"eve", "dev", "POST", "/logs", NoOpinion, ""},
		{robot, "", "DELETE", "/apis/x/v1/namespaces/n/things/t/sub", Allow, `RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "everything" to ServiceAccount "robot/kube-system"`},
		{robot, "", "GET", "/metrics", NoOpinion, ""}, // resource rules do not match paths
		{"system:serviceaccount:other:robot", "", "GET", "/api/v1/pods", NoOpinion, ""},
		{"bob", "", "GET", "/api/v1/namespaces/ns/configmaps/a", Allow, `RBAC: allowed by RoleBinding "named/ns" of Role "named" to User "bob"`},
		{"bob", "", "GET", "/api/v1/namespaces/ns/configmaps/b", NoOpinion, ""},
		{"bob", "", "GET", "/api/v1/namespaces/ns/configmaps", NoOpinion, ""},
		{"bob", "", "GET", "/api/v1/namespaces/ns/configmaps?fieldSelector=metadata.name%3Da", Allow, `RBAC: allowed by RoleBinding "named/ns" of Role "named" to User "bob"`},
		{"bob", "", "GET", "/api/v1/namespaces/other/configmaps/a", NoOpinion, ""},
		{"bob", "", "GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Da", NoOpinion, ""},
		{"eve", "ops", "PATCH", "/apis/apps/v1/namespaces/ns/deployments/d/scale", Allow, `RBAC: allowed by RoleBinding "subs/ns" of Role "subs" to Group "ops"`},
		{"eve", "ops", "PATCH", "/apis/apps/v1/namespaces/ns/statefulsets/d/scale", NoOpinion, ""},
		// The reason names the first subject that matches.
		{"carol", "second first", "PATCH", "/apis/apps/v1/namespaces/ns/deployments/d/scale", Allow, `RBAC: allowed by RoleBinding "twice/ns" of Role "subs" to Group "first"`},
		{"carol", "second", "PATCH", "/apis/apps/v1/namespaces/ns/deployments/d/scale", Allow, `RBAC: allowed by RoleBinding "twice/ns" of Role "subs" to User "carol"`},
		{"lost", "", "GET", "/api/v1/namespaces/ns/pods", NoOpinion,
			`RBAC: [clusterrole.rbac.authorization.k8s.io "missing" not found, role.rbac.authorization.k8s.io "gone" not found]`},
		{"lost", "", "GET", "/api/v1/pods", NoOpinion, `RBAC: clusterrole.rbac.authorization.k8s.io "missing" not found`},
		{"alice", "", "GET", "/api/v1/namespaces/ns/secrets", NoOpinion, `RBAC: role.rbac.authorization.k8s.io "gone" not found`},
	} {
		info := request.Parse(httptest.NewRequest(c.method, c.path, nil))
		user := &request.User{Name: c.user, Groups: strings.Fields(c.groups)}
		got, reason, err := r.Authorize(t.Context(), user, &info)
		if got != c.want || reason != c.reason || err != nil {
			t.Errorf("%s (%s) %s %s: got %v, %q, %v", c.user, c.groups, c.method, c.path, got, reason, err)
		}
	}
}

// TestResourcesWithSlashes checks resources that contain a slash, such as the audience of a token.
func TestResourcesWithSlashes(t *testing.T) {
	x := newRBACIndex()
	for role, resources := range map[string][]string{"named": {"https://a.example/b", "c/d/e"}, "logs": {"*/log"}} {
		x.clusterRoles.set(role, []rbacv1.PolicyRule{{APIGroups: []string{""}, Verbs: []string{"v"}, Resources: resources}})
		x.bind(&x.clusterBindings, role, "", rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, []rbacv1.Subject{{Kind: "User", Name: "u"}})
	}
	r := &RBAC{index: x}
	for _, c := range []struct {
		resource, sub string
		want          Decision
	}{
		{"https://a.example/b", "", Allow},
		{"https://a.example", "", NoOpinion},
		{"https:", "/a.example/b", Allow},
		{"https://a.example/b", "c", NoOpinion},
		{"https://other", "log", Allow},
		{"c/d", "e", Allow},
		{"c", "d/e", Allow},
		{"c", "e", NoOpinion},
		{"c/d", "", NoOpinion},
	} {
		info := &request.Info{IsResource: true, Verb: "v", Resource: c.resource, Subresource: c.sub}
		if got, _, err := r.Authorize(t.Context(), &request.User{Name: "u"}, info); got != c.want || err != nil {
			t.Errorf("%q %q: %v, %v", c.resource, c.sub, got, err)
		}
	}
}

func TestRulesFor(t *testing.T) {
	rules, err := rbacOf(someRoles).RulesFor(t.Context(), &request.User{Name: "alice", Groups: []string{"ops"}}, "ns")
	if err == nil || !strings.Contains(err.Error(), `"gone" not found`) {
		t.Errorf("error %v", err)
	}
	if len(rules.Resources) != 2 || len(rules.Paths) != 1 || rules.Incomplete {
		t.Errorf("got %+v", rules)
	}
	rules, err = rbacOf(someRoles).RulesFor(t.Context(), &request.User{Name: "carol", Groups: []string{"second", "first"}}, "ns")
	if len(rules.Resources) != 1 || err != nil {
		t.Errorf("several subjects of one binding: got %+v, %v", rules, err)
	}
}

func TestUncovered(t *testing.T) {
	held := func(lines string) []rbacv1.PolicyRule {
		return parsePolicy("clusterrole x\n"+lines, features.Default())[0].(*rbacv1.ClusterRole).Rules
	}
	for _, c := range []struct{ held, wanted, missing string }{
		{"  core pods get,list", "  core pods get", ""},
		{"  core pods get\n  core pods list", "  core pods get,list", ""},
		{"  core pods get", "  core pods get,list,watch", `{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}`},
		{"  core pods get", "  core,apps pods get", `{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}`},
		{"  core pods get", "  core * get", `{APIGroups:[""], Resources:["*"], Verbs:["get"]}`},
		{"  core pods get", "  core pods *", `{APIGroups:[""], Resources:["pods"], Verbs:["*"]}`},
		{"  * * *", "  core pods/exec create a,b", ""},
		{"  * * *", "  path /metrics get", `{NonResourceURLs:["/metrics"], Verbs:["get"]}`},
		{"  core */status get", "  core pods/status get", ""},
		{"  core pods get", "  core pods/status get", `{APIGroups:[""], Resources:["pods/status"], Verbs:["get"]}`},
		{"  core pods get", "  core pods get a", ""},
		{"  core pods get a", "  core pods get", `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`},
		{"  core pods get a", "  core pods get a,b", `{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}`},
		{"  path /a/* get", "  path /a/b get", ""},
		{"  path /a/* get", "  path /* get", `{NonResourceURLs:["/*"], Verbs:["get"]}`},
	} {
		if got := describeRules(missingRules(held(c.held), held(c.wanted))); got != c.missing {
			t.Errorf("%s | %s:\n got %s\nwant %s", c.held, c.wanted, got, c.missing)
		}
	}
}

// TestUncoveredProduct checks that rules that stand for very many permissions are compared within
// bounds: 3,000 groups, resources and verbs are 27,000,000,000 permissions.
func TestUncoveredProduct(t *testing.T) {
	names := func(prefix string, n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = prefix + strconv.Itoa(i)
		}
		return out
	}
	product := func(n int) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: names("g", n), Resources: names("r", n), Verbs: names("v", n)}
	}
	part := product(3000)
	part.Verbs = part.Verbs[:1500]
	rest := product(3000)
	rest.Verbs = rest.Verbs[1500:]
	paths := rbacv1.PolicyRule{NonResourceURLs: names("/", 20_000), Verbs: names("v", 20_000)}
	for _, c := range []struct {
		name         string
		held, wanted []rbacv1.PolicyRule
		missing      int
		err          error
	}{
		{"none", nil, []rbacv1.PolicyRule{product(3000)}, maxMissing, nil},
		{"some", []rbacv1.PolicyRule{product(10)}, []rbacv1.PolicyRule{product(3000)}, maxMissing, nil},
		{"all in one rule", []rbacv1.PolicyRule{product(1), product(3000)}, []rbacv1.PolicyRule{product(3000), product(2000)}, 0, nil},
		{"all in two rules", []rbacv1.PolicyRule{part, rest}, []rbacv1.PolicyRule{product(3000)}, 0, errTooManyPermissions},
		{"paths", nil, []rbacv1.PolicyRule{paths}, maxMissing, nil},
		{"few in two rules", []rbacv1.PolicyRule{part, rest}, []rbacv1.PolicyRule{{APIGroups: names("g", 9), Resources: names("r", 9), Verbs: names("v", 3001)}}, 81, nil},
	} {
		missing, err := uncovered(c.held, c.wanted)
		if len(missing) != c.missing || err != c.err {
			t.Errorf("%s: %d permissions are missing, %v", c.name, len(missing), err)
		}
	}
}

func TestReconciled(t *testing.T) {
	want := parsePolicy("clusterrole a to=x gathers=y\n  core pods get,list\nclusterrolebinding b a user:one user:two", features.Default())
	role := want[0].(*rbacv1.ClusterRole)
	there := &rbacv1.ClusterRole{ObjectMeta: defaultMeta("", "a"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}
	there.Labels = map[string]string{"mine": "1", aggregateTo + "x": "false"}
	got := reconciled(there, role).(*rbacv1.ClusterRole)
	if describeRules(missingRules(got.Rules, role.Rules)) != "" || len(got.Rules) != 2 || got.AggregationRule == nil ||
		got.Labels["mine"] != "1" || got.Labels[aggregateTo+"x"] != "false" || got.Labels["kubernetes.io/bootstrapping"] == "" {
		t.Errorf("got %+v", got)
	}
	if again := reconciled(got, role); !reflect.DeepEqual(again, got) {
		t.Errorf("again %+v", again)
	}
	binding := want[1].(*rbacv1.ClusterRoleBinding)
	less := binding.DeepCopy()
	less.Subjects = less.Subjects[1:]
	if got := reconciled(less, binding).(*rbacv1.ClusterRoleBinding); len(got.Subjects) != 2 {
		t.Errorf("got %+v", got.Subjects)
	}
}

// BenchmarkRBAC decides with 10,000 roles and 10,000 bindings, of which about twenty apply to each
// user or its group.
func BenchmarkRBAC(b *testing.B) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "clusterrole c%d\n  apps deployments,statefulsets,r%d get,list,watch\n", i, i)
		fmt.Fprintf(&text, "role ns%d/r%d\n  core pods,configmaps,secrets get,list,watch,update\n", i%500, i)
		fmt.Fprintf(&text, "clusterrolebinding cb%d c%d user:u%d group:g%d\n", i, i, i, i%500)
		fmt.Fprintf(&text, "rolebinding ns%d/b%d r%d user:u%d group:g%d\n", i%500, i, i, i%1000, i%500)
	}
	r := rbacOf(text.String())
	var users []*request.User
	var infos []request.Info
	for i := range 1000 {
		users = append(users, &request.User{Name: fmt.Sprintf("u%d", i), Groups: []string{fmt.Sprintf("g%d", i%500), "system:authenticated"}})
		infos = append(infos, request.Parse(httptest.NewRequest("GET", fmt.Sprintf("/api/v1/namespaces/ns%d/pods/p", i%500), nil)))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, _, err := r.Authorize(b.Context(), users[i%1000], &infos[i%1000]); err != nil {
			b.Fatal(err)
		}
	}
}
