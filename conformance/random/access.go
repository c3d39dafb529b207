package random

import (
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// access tells of roles and bindings that change, of requests by users who have some of them, and of
// the reviews that say what users may do.
func access(s *story) {
	a := &accessor{story: s}
	s.send(http.MethodPost, a.on("serviceaccounts"), object{"metadata": object{"name": "sa"}}).Only = []string{"kind"}
	s.send(http.MethodPost, a.on("configmaps"), object{"metadata": object{"name": "o"}}).Only = []string{"kind"}
	for _, path := range []string{clusterRoles, clusterBindings} {
		for _, name := range accessNames {
			s.cleanup(path + "/" + name + "-${id}")
		}
	}
	for range 2 + s.IntN(3) {
		a.writeRole()
	}
	a.writeBinding()
	for s.goesOn() {
		s.happen(
			action{3, a.writeRole}, action{4, a.writeBinding}, action{12, a.request}, action{6, a.review}, action{2, a.rules}, action{4, a.escalate}, action{2, a.remove}, action{1, a.read}, action{3, a.token}, action{3, a.useToken}, action{1, a.tokenReview}, action{2, a.aggregate},
		)
	}
}

const (
	rbac            = "rbac.authorization.k8s.io"
	clusterRoles    = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	clusterBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
)

var accessNames = []string{"r", "q"}

// accessor writes roles and asks as users.
type accessor struct{ *story }

func (a *accessor) on(resource string) string {
	if resource == "roles" || resource == "rolebindings" {
		return namespaced(rbac+"/v1", resource)
	}
	return namespaced("v1", resource)
}

// rule returns a random rule of a role.
func (a *accessor) rule(isCluster bool) object {
	s := a.story
	if isCluster && s.chance(25) {
		o := object{"nonResourceURLs": s.several("/healthz", "/version", "/foo/*", "*", "/metrics", "/healthz/*", "x", "/foo*bar"), "verbs": s.several("get", "*", "post")}
		if s.chance(10) {
			o["resources"] = []any{"pods"}
		}
		return o
	}
	o := object{"apiGroups": s.several("", "", "", "apps", "*", rbac, "authentication.k8s.io", "example.com"),
		"resources": s.several("configmaps", "configmaps", "pods", "*", "secrets", "roles", "rolebindings", "clusterroles", "pods/log", "*/status", "pods/*", "serviceaccounts/token", "users", "groups", "deployments", "*/scale", "events", "namespaces", "serviceaccounts"),
		"verbs":     s.several("get", "list", "create", "update", "patch", "delete", "*", "watch", "deletecollection", "bind", "escalate", "impersonate", "GET", "request-serviceaccounts-token-audience")}
	if s.chance(20) {
		o["resourceNames"] = s.several("o", "p", "r", "sa", "r-${id}", "view")
	}
	if s.chance(5) {
		delete(o, pick(s, "apiGroups", "resources", "verbs"))
	}
	if s.chance(3) {
		o[pick(s, "apiGroups", "resources", "verbs", "nonResourceURLs")] = pick[any](s, []any{}, "x", []any{"/x"}, nil)
	}
	return o
}

// several returns one to three of the choices.
func (s *story) several(choices ...string) []any {
	out := []any{}
	for range 1 + s.IntN(3) {
		if c := pick(s, choices...); !slices.Contains(out, any(c)) {
			out = append(out, c)
		}
	}
	return out
}

func (a *accessor) someRules(isCluster bool) []any {
	rules := []any{}
	for range 1 + a.IntN(3) {
		rules = append(rules, a.rule(isCluster))
	}
	return rules
}

// role returns a role and the paths of its collection and itself.
func (a *accessor) role() (o object, collection, self string) {
	isCluster := a.chance(45)
	name := pick(a.story, accessNames...)
	o = object{"apiVersion": rbac + "/v1", "kind": "Role", "rules": a.someRules(isCluster)}
	collection = a.on("roles")
	if isCluster {
		collection, name, o["kind"] = clusterRoles, name+"-${id}", "ClusterRole"
	}
	o["metadata"] = object{"name": name}
	return o, collection, collection + "/" + name
}

// change writes an object in one of the usual ways, as a user or, without one, as the administrator.
func (a *accessor) change(o object, collection, self string, part any, as func(*conversation.Step)) {
	var step *conversation.Step
	switch a.IntN(6) {
	case 0, 1:
		step = a.send(http.MethodPost, query(collection, "dryRun", a.sometimes(5, "All")), o)
	case 2, 3:
		step = a.send(http.MethodPut, query(self, "dryRun", a.sometimes(5, "All")), o)
	case 4:
		step = a.patch(pick(a.story, mergePatch, strategicPatch), self, part)
	default:
		step = a.patch(applyPatch, query(self, "fieldManager", pick(a.story, "m1", "m2"), "force", a.sometimes(60, "true")), o)
	}
	if as != nil {
		as(step)
	}
	a.settle()
}

// settle waits until a server has noticed the change of a role or a binding.
func (a *accessor) settle() { a.pause(0.7) }

func (a *accessor) writeRole() {
	o, collection, self := a.role()
	a.change(o, collection, self, object{"rules": o["rules"]}, nil)
}

// subject returns a subject of a binding.
func (a *accessor) subject() object {
	switch a.IntN(8) {
	case 0, 1, 2:
		return object{"kind": "User", "name": pick(a.story, "u-${id}", "v-${id}"), "apiGroup": rbac}
	case 3:
		return object{"kind": "Group", "name": "g-${id}"}
	case 4, 5:
		return object{"kind": "ServiceAccount", "name": "sa", "namespace": "${ns}"}
	case 6:
		return object{"kind": "Group", "name": "system:serviceaccounts:${ns}", "apiGroup": rbac}
	}
	return pick(a.story, object{"kind": "User", "name": ""}, object{"kind": "Other", "name": "u-${id}"}, object{"kind": "ServiceAccount", "name": "sa"}, object{"kind": "User", "name": "u-${id}", "apiGroup": "x"}, object{"kind": "User", "name": "u-${id}", "namespace": "x"}, object{"kind": "ServiceAccount", "name": "S a", "namespace": "${ns}"}, object{})
}

// binding returns a binding and the paths of its collection and itself.
func (a *accessor) binding() (o object, collection, self string) {
	isCluster := a.chance(35)
	name := pick(a.story, accessNames...)
	o = object{"apiVersion": rbac + "/v1", "kind": "RoleBinding"}
	collection = a.on("rolebindings")
	ref := object{"apiGroup": rbac, "kind": "Role", "name": pick(a.story, accessNames...)}
	if isCluster || a.chance(40) {
		ref["kind"], ref["name"] = "ClusterRole", pick(a.story, "r-${id}", "q-${id}", "view", "edit", "admin", "none")
	}
	if isCluster {
		collection, name, o["kind"] = clusterBindings, name+"-${id}", "ClusterRoleBinding"
	}
	if a.chance(4) {
		ref[pick(a.story, "apiGroup", "kind", "name")] = pick(a.story, "", "x", "Role", "a/b")
	}
	subjects := []any{}
	for range 1 + a.IntN(2) {
		subjects = append(subjects, a.subject())
	}
	o["metadata"], o["roleRef"], o["subjects"] = object{"name": name}, ref, subjects
	return o, collection, collection + "/" + name
}

func (a *accessor) writeBinding() {
	o, collection, self := a.binding()
	a.change(o, collection, self, pick[any](a.story, object{"subjects": o["subjects"]}, object{"roleRef": o["roleRef"]}), nil)
}

// as sends a step as one of the users.
func (a *accessor) as(step *conversation.Step) {
	s := a.story
	switch s.IntN(8) {
	case 0, 1, 2:
		header(step, "Impersonate-User", "u-${id}")
	case 3:
		header(step, "Impersonate-User", "v-${id}")
		header(step, "Impersonate-Group", "g-${id}")
	case 4, 5:
		header(step, "Impersonate-User", "system:serviceaccount:${ns}:sa")
	case 6:
		header(step, "Impersonate-User", pick(s, "u-${id}", "w-${id}"))
		header(step, "Impersonate-Group", pick(s, "g-${id}", "system:serviceaccounts:${ns}", "system:unauthenticated"))
	default:
		header(step, "Impersonate-User", pick(s, "system:anonymous", "system:serviceaccount:${ns}:none", "system:node:n-${id}", "system:serviceaccount:bad", "system:serviceaccount:${ns}:sa"))
		header(step, pick(s, "Impersonate-Uid", "Impersonate-Extra-scopes", "Impersonate-Extra-a%2fb"), "x")
	}
}

// request sends a request about an object as a user.
func (a *accessor) request() {
	step := a.anyRequest()
	a.as(step)
	if step.Path == a.on("roles") || step.Method == http.MethodDelete {
		a.settle()
	}
}

// anyRequest adds a request of one of the kinds that the rules name.
func (a *accessor) anyRequest() *conversation.Step {
	s := a.story
	if s.chance(15) {
		step := s.send(pick(s, http.MethodGet, http.MethodGet, http.MethodPost), pick(s, "/healthz", "/version", "/foo/bar", "/foo", "/healthz/ping", "/api", "/apis/apps", "/none", "/foo/xbar"), nil)
		step.Only = []string{"message", "reason"}
		return step
	}
	path := pick(s, a.on("configmaps"), a.on("configmaps"), a.on("pods"), a.on("secrets"), namespaced("apps/v1", "deployments"), a.on("roles"), a.on("serviceaccounts"), "/api/v1/configmaps")
	name := path + "/" + pick(s, "o", "p")
	switch s.IntN(12) {
	case 0, 1, 2:
		return s.send(http.MethodGet, name, nil)
	case 3:
		step := s.send(http.MethodGet, query(path, "fieldSelector", s.sometimes(30, "metadata.name=o"), "limit", "5"), nil)
		step.Ignore = []string{"items", "metadata.remainingItemCount", "metadata.continue"}
		return step
	case 4, 5:
		return s.send(http.MethodPost, query(path, "dryRun", s.sometimes(40, "All")), object{"metadata": object{"name": pick(s, "o", "p")}})
	case 6:
		return s.send(http.MethodPut, name, object{"metadata": object{"name": "o"}, "data": object{"a": pick(s, "1", "2")}})
	case 7:
		return s.patch(pick(s, mergePatch, strategicPatch, applyPatch), query(name, "fieldManager", "m1", "dryRun", s.sometimes(30, "All")), object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"labels": object{"a": pick(s, "1", "2")}}})
	case 8:
		return s.send(http.MethodDelete, name, nil)
	case 9:
		return s.send(http.MethodGet, name+"/"+pick(s, "status", "log", "scale", "token", "none"), nil)
	case 10:
		return s.send(http.MethodGet, query(path, "watch", "1", "timeoutSeconds", "x"), nil)
	default:
		return s.send(http.MethodDelete, query(path, "dryRun", "All", "labelSelector", "none=none"), nil)
	}
}

// attributes returns the resource attributes of a review.
func (a *accessor) attributes() object {
	s := a.story
	o := object{}
	for _, f := range []struct {
		name    string
		percent int
		choices []string
	}{
		{"namespace", 75, []string{"${ns}", "${ns}", "other", ""}}, {"verb", 92, []string{"get", "list", "create", "update", "delete", "*", "bind", "escalate", "impersonate", "watch", ""}},
		{"group", 60, []string{"", "apps", "*", rbac, "x"}}, {"version", 20, []string{"v1", "*", "x"}}, {"resource", 90, []string{"configmaps", "pods", "secrets", "*", "roles", "deployments", "users", "clusterroles"}},
		{"subresource", 20, []string{"log", "status", "*", "scale"}}, {"name", 30, []string{"o", "p", "r", ""}},
	} {
		if s.chance(f.percent) {
			o[f.name] = pick(s, f.choices...)
		}
	}
	if s.chance(12) {
		requirement := object{"key": pick(s, "metadata.name", "a", ""), "operator": pick(s, "In", "Exists", "x", "NotIn"), "values": pick[any](s, []any{"o"}, nil, []any{})}
		o[pick(s, "fieldSelector", "labelSelector")] = pick(s, object{"requirements": []any{requirement}}, object{"rawSelector": "a=b"}, object{}, object{"rawSelector": "a=b", "requirements": []any{requirement}}, object{"requirements": []any{}})
	}
	return o
}

// review asks whether a user may do something.
func (a *accessor) review() {
	s := a.story
	spec := object{}
	if s.chance(85) {
		spec["resourceAttributes"] = a.attributes()
	}
	if s.chance(15) {
		spec["nonResourceAttributes"] = pick(s, object{"path": "/foo/bar", "verb": "get"}, object{"path": "/healthz", "verb": "get"}, object{}, object{"path": "x"})
	}
	if s.chance(35) {
		a.as(s.send(http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", object{"spec": spec}))
		return
	}
	if s.chance(90) {
		spec["user"] = pick(s, "u-${id}", "v-${id}", "system:serviceaccount:${ns}:sa", "admin", "", "system:node:n-${id}")
	}
	if s.chance(30) {
		spec[pick(s, "groups", "groups", "uid", "extra", "group")] = pick[any](s, []any{"g-${id}"}, []any{"system:masters"}, []any{"system:nodes"}, "x", object{"a": []any{"b"}}, nil)
	}
	path, o := "/apis/authorization.k8s.io/v1/subjectaccessreviews", object{"spec": spec}
	if s.chance(30) {
		path = namespaced("authorization.k8s.io/v1", "localsubjectaccessreviews")
		if s.chance(60) {
			o["metadata"] = object{"namespace": pick(s, "${ns}", "${ns}", "other")}
		}
	}
	step := s.send(http.MethodPost, query(path, "dryRun", s.sometimes(5, "All")), o)
	if s.chance(10) {
		a.as(step)
	}
}

// rules asks for the rules of a user.
func (a *accessor) rules() {
	step := a.send(http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", object{"spec": pick[any](a.story, object{"namespace": "${ns}"}, object{"namespace": "${ns}"}, object{"namespace": "other"}, object{}, nil)})
	step.Ignore = []string{"status.evaluationError"} // the order of its errors is random
	a.as(step)
}

// escalate writes a role or a binding as a user.
func (a *accessor) escalate() {
	if a.chance(50) {
		o, collection, self := a.role()
		a.change(o, collection, self, object{"rules": o["rules"]}, a.as)
		return
	}
	o, collection, self := a.binding()
	a.change(o, collection, self, object{"subjects": o["subjects"]}, a.as)
}

func (a *accessor) remove() {
	_, _, self := a.role()
	if a.chance(50) {
		_, _, self = a.binding()
	}
	a.send(http.MethodDelete, query(self, "dryRun", a.sometimes(10, "All")), nil)
	a.settle()
}

func (a *accessor) read() {
	_, _, self := a.role()
	if a.chance(50) {
		_, _, self = a.binding()
	}
	step := a.send(http.MethodGet, self, nil)
	if a.chance(50) {
		header(step, "Accept", a.accept())
	}
}

// aggregate writes a cluster role that has the rules of others, or gives one the label for it.
func (a *accessor) aggregate() {
	if a.chance(50) {
		a.patch(mergePatch, clusterRoles+"/r-${id}", object{"metadata": object{"labels": object{"agg-${id}": pick[any](a.story, "1", "2", nil)}}})
	} else {
		selectors := []any{object{"matchLabels": object{"agg-${id}": pick(a.story, "1", "2")}}}
		if a.chance(10) {
			selectors = append(selectors, object{"matchExpressions": []any{object{"key": "agg-${id}", "operator": pick(a.story, "Exists", "x", "In")}}})
		}
		a.patch(mergePatch, clusterRoles+"/q-${id}", object{"aggregationRule": pick[any](a.story, object{"clusterRoleSelectors": selectors}, object{"clusterRoleSelectors": selectors}, nil, object{}, object{"clusterRoleSelectors": []any{}})}).Ignore = []string{"rules"}
	}
	a.pause(1)
	a.send(http.MethodGet, clusterRoles+"/q-${id}", nil).Ignore = []string{"metadata.managedFields"}
}

// token requests a token for the service account.
func (a *accessor) token() {
	s := a.story
	if s.chance(15) {
		s.send(pick(s, http.MethodPost, http.MethodDelete), pick(s, a.on("secrets"), a.on("serviceaccounts")+"/sa", a.on("secrets")+"/bound"), object{"metadata": object{"name": "bound"}})
		s.pause(0.4)
		return
	}
	spec := object{}
	if s.chance(40) {
		spec["audiences"] = pick[any](s, []any{"x"}, []any{"x", "y"}, []any{}, []any{""}, "x", []any{"https://kubernetes.default.svc.cluster.local"})
	}
	if s.chance(40) {
		spec["expirationSeconds"] = pick[any](s, 600, 3600, 599, 0, -1, 4294967296, 4294967297, nil, "x")
	}
	if s.chance(30) {
		ref := object{"kind": pick(s, "Secret", "Secret", "Pod", "Node", "x"), "name": pick(s, "bound", "none", ""), "apiVersion": pick(s, "v1", "v1", "", "v2")}
		if s.chance(30) {
			ref["uid"] = pick(s, "none", "")
		}
		spec["boundObjectRef"] = ref
	}
	o := object{"spec": spec}
	if s.chance(10) {
		o["metadata"] = pick(s, object{"name": "other"}, object{"name": "sa"}, object{"namespace": "x"}, object{"labels": object{"a": "b"}})
	}
	if s.chance(8) {
		o[pick(s, "kind", "apiVersion")] = pick(s, "TokenRequest", "authentication.k8s.io/v1", "x", "v1")
	}
	step := s.send(http.MethodPost, query(a.on("serviceaccounts")+"/"+pick(s, "sa", "sa", "sa", "none", "default")+"/token", "dryRun", s.sometimes(8, "All")), o)
	save(step, "token", "status.token")
	step.Ignore = []string{"status.expirationTimestamp"}
	if s.chance(25) {
		a.as(step)
	}
}

// useToken sends a request with the last token.
func (a *accessor) useToken() {
	step := a.anyRequest()
	token := "${token}"
	step.Token = &token
	if a.chance(40) {
		header(step, "Impersonate-User", pick(a.story, "u-${id}", "system:serviceaccount:${ns}:default", "system:node:n-${id}", "o"))
		if a.chance(40) {
			header(step, pick(a.story, "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-scopes"), pick(a.story, "g-${id}", "x", "o"))
		}
	}
	if a.chance(15) {
		a.send(http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", object{}).Token = &token
		a.last().Ignore = []string{"status.userInfo.extra"}
	}
}

func (a *accessor) tokenReview() {
	spec := object{"token": pick(a.story, "${token}", "${token}", "${token}", "bad", "", "alice-token", "a.b.c")}
	if a.chance(40) {
		spec["audiences"] = pick[any](a.story, []any{"x"}, []any{"x", "https://kubernetes.default.svc.cluster.local"}, []any{}, []any{"z"})
	}
	step := a.send(http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", object{"spec": spec})
	step.Ignore = []string{"status.user.extra.authentication~1kubernetes~1io/credential-id", "spec.token"}
	if a.chance(10) {
		a.as(step)
	}
}
