package lab

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

// refusal is a request that the server refuses, and what its Request says of it.
type refusal struct {
	name string
	call
	code int
	want because
}

// because lists the expected fields of a Cause. Fields are paths. Of the variables of a policy it lists only those that the test checks.
type because struct {
	by, name, expression string
	message              string // a part of it
	fields               []string
	variables            map[string]string
}

// TestRefusals checks that the Request of every refused request has the code, the reason and the message that the client got, and
// names what refused it.
func TestRefusals(t *testing.T) {
	w := start(t, server.Options{Lab: server.Lab{Enabled: true}, Admission: server.Admission{EnablePlugins: []string{"NodeRestriction"}}})
	w.load("world.yaml")
	w.load("objects.yaml")
	w.do("DELETE /api/v1/namespaces/ending", "")
	w.do("PATCH /api/v1/namespaces/a/pods/guarded/status merge", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	n := 0
	w.do("PATCH "+configs+"/applied?fieldManager=first apply", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{"k":"first"}}`)
	w.do("PATCH /api/v1/namespaces/a/persistentvolumeclaims/claim/status merge", `{"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}`)
	for _, table := range [][]refusal{accessRefusals(), requestRefusals(), validationRefusals(), admissionRefusals(t), storageRefusals()} {
		for _, r := range table {
			n++
			t.Run(r.name, func(t *testing.T) { w.in(t).refused(r) })
		}
	}
	t.Logf("%d refusals", n)
}

// refused sends the request of a refusal and checks its Request.
func (w *world) refused(r refusal) {
	w.t.Helper()
	a := w.call(r.call)
	if a.code != r.code {
		w.t.Errorf("%s: %d %s", r.do, a.code, a.body)
	}
	w.explains(a, r.want)
}

// explains checks that the Request of a refused request agrees with its response and has the cause.
func (w *world) explains(a *answer, want because) *v1alpha1.Request {
	w.t.Helper()
	req := w.request(a.id)
	s := req.Status
	if int(s.Code) != a.code || s.Reason != string(a.status.Reason) || s.Message != a.status.Message {
		w.t.Errorf("the Request has %d %s %q, the response %d %s", s.Code, s.Reason, s.Message, a.code, a.body)
	}
	c := s.Cause
	if c == nil {
		w.t.Errorf("no cause of %d %s", a.code, a.body)
		return req
	}
	if c.By != want.by || c.Name != want.name || c.Expression != want.expression {
		w.t.Errorf("cause by %q, name %q, expression %q; want %q, %q, %q for %s", c.By, c.Name, c.Expression, want.by, want.name,
			want.expression, cmp.Or(a.status.Message, string(a.body)))
	}
	if !strings.Contains(c.Message, want.message) || want.message == "" && c.Message != "" {
		w.t.Errorf("cause %q, want %q", c.Message, want.message)
	}
	var fields []string
	for _, f := range c.Fields {
		fields = append(fields, f.Path)
		if f.Message == "" || f.Type == "" {
			w.t.Errorf("field %+v", f)
		}
	}
	if !slices.Equal(fields, want.fields) {
		w.t.Errorf("fields %q, want %q in %+v", fields, want.fields, c.Fields)
	}
	for name, value := range want.variables {
		if c.Variables[name] != value {
			w.t.Errorf("variables %v, want %v", c.Variables, want.variables)
		}
	}
	if len(want.variables) == 0 && len(c.Variables) != 0 {
		w.t.Errorf("variables %v", slices.Collect(maps.Keys(c.Variables)))
	}
	if !strings.HasPrefix(s.Why, want.by) || len(s.Why) > 300 {
		w.t.Errorf("why %q", s.Why)
	}
	return req
}

const (
	configs = "/api/v1/namespaces/a/configmaps"
	pods    = "/api/v1/namespaces/a/pods"
	widgets = "/apis/example.com/v1/namespaces/a/widgets"
	dry     = "?dryRun=All"
)

// config is the body of a ConfigMap with further fields of its metadata.
func config(name, metadata string) string {
	if metadata != "" {
		metadata = "," + metadata
	}
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"` + metadata + `}}`
}

// labelled is the body of a ConfigMap with labels and data.
func labelled(labels, data string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{` + labels + `}},"data":{` + data + `}}`
}

// pod is the body of a Pod with further fields of its spec and its container.
func pod(name, spec, container string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"},"spec":{` + spec + `"containers":[{"name":"c","image":"i"` + container + `}]}}`
}

// widget is the body of a Widget with a spec.
func widget(spec string) string {
	return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{` + spec + `}}`
}

// accessRefusals are those of authentication, impersonation and authorization.
func accessRefusals() []refusal {
	unknown, impersonation := because{by: v1alpha1.CauseAuthentication}, because{by: v1alpha1.CauseImpersonation}
	denied := because{by: v1alpha1.CauseAuthorization}
	header := func(pairs ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	return []refusal{
		{"unknown token", call{as: "stranger", do: "GET " + configs}, 401, unknown},
		{"malformed JWT", call{as: "-", do: "GET " + configs, header: header("Authorization", "Bearer e30.e30.e30")}, 401, unknown},
		{"anonymous", call{as: "-", do: "GET " + configs}, 403, denied},
		{"impersonation", call{as: "jane", do: "GET " + configs, header: header("Impersonate-User", "root")}, 403, impersonation},
		{"impersonation of a group", call{as: "jane", do: "GET " + configs, header: header("Impersonate-User", "jane", "Impersonate-Group", "system:masters")}, 403, impersonation},
		{"impersonation without a user", call{do: "GET " + configs, header: header("Impersonate-Group", "g")}, 400, impersonation},
		{"no role", call{as: "jane", do: "GET " + configs}, 403, denied},
		{"verb", call{as: "near", do: "DELETE " + configs + "/one"}, 403, denied},
		{"resource", call{as: "near", do: "GET /api/v1/namespaces/a/services"}, 403, denied},
		{"subresource", call{as: "near", do: "GET " + pods + "/guarded/status"}, 403, denied},
		{"namespace", call{as: "near", do: "GET /api/v1/namespaces/b/configmaps"}, 403, denied},
		{"all namespaces", call{as: "near", do: "GET /api/v1/configmaps"}, 403, denied},
		{"name", call{as: "near", do: "GET /api/v1/namespaces/a/secrets/two"}, 403, denied},
		{"group", call{as: "near", do: "GET /apis/apps/v1/namespaces/a/deployments"}, 403, denied},
		{"path", call{as: "near", do: "GET /metrics"}, 403, denied},
		{"escalation", call{as: "near", do: "POST /apis/rbac.authorization.k8s.io/v1/clusterroles", body: `{"metadata":{"name":"x"}}`}, 403, denied},
		{"grant of more than one has", call{as: "granting", do: "POST /apis/rbac.authorization.k8s.io/v1/clusterroles" + dry,
			body: `{"metadata":{"name":"x"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}`}, 403,
			because{by: v1alpha1.CauseAuthorization, name: "of what the role grants"}},
		{"node: another's secret", call{as: "system:node:n1", do: "GET /api/v1/namespaces/a/secrets/one"}, 403, denied},
		{"node: another node", call{as: "system:node:n1", do: "PATCH /api/v1/nodes/n2 merge", body: `{"metadata":{"labels":{"a":"b"}}}`}, 403,
			because{by: v1alpha1.CauseAdmissionPlugin, name: "NodeRestriction"}},
		{"node: a label of its node", call{as: "system:node:n1", do: "PATCH /api/v1/nodes/n1 merge", body: `{"metadata":{"labels":{"node-restriction.kubernetes.io/a":"b"}}}`}, 403,
			because{by: v1alpha1.CauseAdmissionPlugin, name: "NodeRestriction"}},
		{"node: a pod that is no mirror pod", call{as: "system:node:n1", do: "POST " + pods, body: pod("x", `"nodeName":"n1",`, "")}, 403,
			because{by: v1alpha1.CauseAdmissionPlugin, name: "NodeRestriction"}},
	}
}

// requestRefusals are those of routing, negotiation and decoding.
func requestRefusals() []refusal {
	routing, decoding := because{by: v1alpha1.CauseRouting}, because{by: v1alpha1.CauseDecoding}
	accept := func(media string) map[string]string { return map[string]string{"Accept": media} }
	return []refusal{
		{"unknown path", call{do: "GET /nothing"}, 404, routing},
		{"unknown group", call{do: "GET /apis/none.example/v1/things"}, 404, routing},
		{"unknown version", call{do: "GET /apis/apps/v9/deployments"}, 404, routing},
		{"unknown resource", call{do: "GET /api/v1/namespaces/a/things"}, 404, routing},
		{"unknown subresource", call{do: "GET " + pods + "/guarded/nothing"}, 404, routing},
		{"wrong scope", call{do: "GET /api/v1/namespaces/a/nodes"}, 404, routing},
		{"create in all namespaces", call{do: "POST /api/v1/configmaps", body: config("x", "")}, 405, routing},
		{"unknown method", call{do: "FROB " + configs}, 405, routing},
		{"method of a collection", call{do: "PUT " + configs, body: config("x", "")}, 405, routing},
		{"verb that a kind lacks", call{do: "DELETE /apis/authorization.k8s.io/v1/subjectaccessreviews"}, 405, routing},
		{"no media type of the body", call{do: "POST " + configs + " text/plain", body: "x"}, 415, decoding},
		{"no media type of a patch", call{do: "PATCH " + configs + "/one text/plain", body: "x"}, 415, decoding},
		{"strategic patch of a custom kind", call{do: "PATCH " + widgets + "/w smp", body: "{}"}, 415, decoding},
		{"no media type of the response", call{do: "GET " + configs, header: accept("text/html")}, 406, decoding},
		{"broken JSON", call{do: "POST " + configs, body: `{"metadata":`}, 400, decoding},
		{"empty body", call{do: "POST " + configs}, 400, decoding},
		{"broken YAML", call{do: "POST " + configs + " yaml", body: "a: [\n"}, 400, decoding},
		{"unknown field", call{do: "POST " + configs + dry + "&fieldValidation=Strict", body: config("x", `"bogus":1`)}, 400, decoding},
		{"duplicate field", call{do: "POST " + configs + dry + "&fieldValidation=Strict", body: config("x", `"name":"y"`)}, 400, decoding},
		{"unknown field of a custom kind", call{do: "POST " + widgets + dry + "&fieldValidation=Strict", body: widget(`"size":1,"bogus":2`)}, 400, decoding},
		{"wrong type", call{do: "POST " + configs, body: `{"metadata":{"name":1}}`}, 400, decoding},
		{"wrong kind", call{do: "POST " + configs, body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`}, 400, decoding},
		{"unknown kind", call{do: "POST " + configs, body: `{"apiVersion":"v1","kind":"Foo","metadata":{"name":"x"}}`}, 400, decoding},
		{"too large", call{do: "POST " + configs, body: config("x", `"annotations":{"a":"`+strings.Repeat("x", 4<<20)+`"}`)}, 413, decoding},
		{"too deep", call{do: "POST " + configs, body: strings.Repeat("[", 20000) + strings.Repeat("]", 20000)}, 400, decoding},
		{"broken JSON patch", call{do: "PATCH " + configs + "/one json", body: `[{"op":`}, 400, decoding},
		{"JSON patch whose test fails", call{do: "PATCH " + configs + "/one json", body: `[{"op":"test","path":"/data/k","value":"no"}]`}, 422,
			because{by: v1alpha1.CauseDecoding, message: "/data/k"}},
		{"JSON patch of a path that is missing", call{do: "PATCH " + configs + "/one json", body: `[{"op":"remove","path":"/data/none"}]`}, 422,
			because{by: v1alpha1.CauseDecoding, message: "/data/none"}},
		{"merge patch that is a list", call{do: "PATCH " + configs + "/one merge", body: `[]`}, 400, decoding},
		{"unknown directive of a strategic patch", call{do: "PATCH " + configs + "/one smp", body: `{"data":{"$patch":"frob"}}`}, 500, decoding},
		{"field selector", call{do: "GET " + configs + "?fieldSelector=data.k%3Dv"}, 400, decoding},
		{"label selector", call{do: "GET " + configs + "?labelSelector=%3D%3D"}, 400, decoding},
		{"continue token", call{do: "GET " + configs + "?continue=xyz"}, 400, decoding},
		{"options of a delete", call{do: "DELETE " + configs + "/one", body: `{"kind":`}, 400, decoding},
		{"option that is no value", call{do: "POST " + configs + "?dryRun=Some", body: config("x", "")}, 422, because{by: v1alpha1.CauseValidation, fields: []string{"dryRun"}}},
		{"resourceVersion that is no number", call{do: "GET " + configs + "?resourceVersion=abc"}, 400, decoding},
		{"watch from a resourceVersion that is no number", call{do: "GET " + configs + "?watch=1&resourceVersion=abc"}, 500, decoding},
	}
}

// causes returns the reasons of a failed validation.
func invalid(fields ...string) because {
	return because{by: v1alpha1.CauseValidation, fields: fields}
}

// validationRefusals are those of the rules of kinds.
func validationRefusals() []refusal {
	const deployments = "/apis/apps/v1/namespaces/a/deployments"
	rule := func(expression string, fields ...string) because {
		return because{by: v1alpha1.CauseValidation, expression: expression, fields: fields}
	}
	return []refusal{
		{"name", call{do: "POST " + configs, body: config("A_b", "")}, 422, invalid("metadata.name")},
		{"no name", call{do: "POST " + configs, body: "{}"}, 422, invalid("metadata.name")},
		{"label", call{do: "POST " + configs, body: config("x", `"labels":{"a b":"c"}`)}, 422, invalid("metadata.labels")},
		{"rule of a built-in kind", call{do: "POST " + pods, body: pod("x", `"restartPolicy":"Sometimes",`, "")}, 422, invalid("spec.restartPolicy")},
		{"several rules", call{do: "POST " + pods, body: pod("x", "", `,"imagePullPolicy":"Now","ports":[{"containerPort":0}]`)}, 422,
			invalid("spec.containers[0].ports[0].containerPort", "spec.containers[0].imagePullPolicy")},
		{"declared rule", call{do: "POST /api/v1/namespaces/a/replicationcontrollers", body: `{"metadata":{"name":"x"},"spec":{"replicas":-1,"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`}, 422, invalid("spec.replicas")},
		{"immutable field", call{do: "PATCH " + deployments + "/web merge", body: `{"spec":{"selector":{"matchLabels":{"app":"other"}}}}`}, 422, invalid("spec.template.metadata.labels", "spec.selector")},
		{"immutable ConfigMap", call{do: "PATCH " + configs + "/fixed merge", body: `{"data":{"k":"w"}}`}, 422, invalid("data")},
		{"name of another object", call{do: "PUT " + configs + "/one", body: config("two", "")}, 400, because{by: v1alpha1.CauseDecoding}},
		{"namespace of another path", call{do: "POST " + configs, body: config("x", `"namespace":"b"`)}, 400, because{by: v1alpha1.CauseDecoding}},
		{"CRD: type", call{do: "POST " + widgets + dry, body: widget(`"size":"big"`)}, 422, invalid("spec.size", "<nil>")},
		{"CRD: maximum", call{do: "POST " + widgets + dry, body: widget(`"size":11`)}, 422, invalid("spec.size")},
		{"CRD: enum", call{do: "POST " + widgets + dry, body: widget(`"size":1,"color":"blue"`)}, 422, invalid("spec.color", "<nil>")},
		{"CRD: required", call{do: "POST " + widgets + dry, body: widget(``)}, 422, invalid("spec.size", "<nil>")},
		{"CRD: rule", call{do: "POST " + widgets + dry, body: widget(`"size":7`)}, 422, rule("self.size != 7", "spec")},
		{"CRD: rule with a message", call{do: "POST " + widgets + dry, body: widget(`"size":8`)}, 422, rule("self.size != 8", "spec")},
		{"CRD: rule with an expression of a message", call{do: "POST " + widgets + dry, body: widget(`"size":9`)}, 422, rule("self.size != 9", "spec")},
		{"CRD: rule of a transition", call{do: "PATCH " + widgets + "/w merge", body: `{"spec":{"frozen":"no"}}`}, 422, rule("self.frozen == oldSelf.frozen", "spec")},
		{"CRD: list with two of a key", call{do: "POST " + widgets + dry, body: widget(`"size":1,"items":[{"name":"a"},{"name":"a"}]`)}, 422, invalid("spec.items[1]")},
		{"CRD: status", call{do: "PATCH " + widgets + "/w/status merge", body: `{"status":{"replicas":"many"}}`}, 422, invalid("status.replicas", ".status.replicas", "<nil>")},
		{"CRD: scale", call{do: "PATCH " + widgets + "/w/scale merge", body: `{"spec":{"replicas":-1}}`}, 422, invalid(".spec.replicas")},
		{"definition", call{do: "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: `{"metadata":{"name":"x"},"spec":{"group":"g.example","scope":"Namespaced","names":{"plural":"xs","kind":"X"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`}, 422, invalid("metadata.name")},
		{"eviction of the wrong pod", call{do: "POST " + pods + "/guarded/eviction", body: `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"other"}}`}, 400, because{by: v1alpha1.CauseDecoding}},
		{"conversion webhook", call{do: "GET /apis/example.com/v2/namespaces/a/gadgets/g"}, 500, because{by: v1alpha1.CauseConversion, name: "gadgets.example.com"}},
		{"conversion webhook of a list", call{do: "GET /apis/example.com/v2/namespaces/a/gadgets"}, 500,
			because{by: v1alpha1.CauseConversion, name: "gadgets.example.com", fields: []string{"/registry/example.com/gadgets/a/g"}}},
		{"conversion webhook of a create", call{do: "POST /apis/example.com/v2/namespaces/a/gadgets", body: `{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"name":"x"}}`}, 500, because{by: v1alpha1.CauseConversion, name: "gadgets.example.com"}},
	}
}

// TestMissingPermission checks what a user lacks, and which rule of the user comes nearest.
func TestMissingPermission(t *testing.T) {
	w := startLab(t)
	w.load("world.yaml")
	for _, c := range []struct {
		do   string
		want v1alpha1.MissingPermission
		near []string // ROLE: RULE lacks LACKS
	}{
		{"DELETE " + configs + "/one", v1alpha1.MissingPermission{Verb: "delete", Resource: "configmaps", Namespace: "a", Name: "one"}, []string{"verb"}},
		{"GET /api/v1/namespaces/b/configmaps", v1alpha1.MissingPermission{Verb: "list", Resource: "configmaps", Namespace: "b"}, []string{"namespace"}},
		{"GET /api/v1/namespaces/a/secrets/two", v1alpha1.MissingPermission{Verb: "get", Resource: "secrets", Namespace: "a", Name: "two"}, []string{"name"}},
		{"GET " + pods + "/guarded/log", v1alpha1.MissingPermission{Verb: "get", Resource: "pods/log", Namespace: "a", Name: "guarded"}, []string{"resource"}},
		{"GET /apis/apps/v1/namespaces/a/deployments", v1alpha1.MissingPermission{Verb: "list", Group: "apps", Resource: "deployments", Namespace: "a"}, nil},
		{"GET /metrics", v1alpha1.MissingPermission{Verb: "get", Path: "/metrics"}, nil},
	} {
		a := w.call(call{as: "near", do: c.do})
		if a.status.Reason != metav1.StatusReasonForbidden {
			t.Errorf("%s: %d %s", c.do, a.code, a.body)
			continue
		}
		m := w.explains(a, because{by: v1alpha1.CauseAuthorization}).Status.Cause.Missing
		got := *m
		got.Nearest = nil
		if !equal(got, c.want) {
			t.Errorf("%s: missing %+v, want %+v", c.do, got, c.want)
		}
		if c.near == nil {
			continue
		}
		if len(m.Nearest) == 0 || m.Nearest[0].Role != "Role a/configs" || m.Nearest[0].Binding != "RoleBinding a/near-configs" ||
			!slices.Equal(m.Nearest[0].Lacks, c.near) {
			t.Errorf("%s: nearest %+v", c.do, m.Nearest)
		}
	}
}

func equal(a, b v1alpha1.MissingPermission) bool {
	return a.Verb == b.Verb && a.Group == b.Group && a.Resource == b.Resource && a.Namespace == b.Namespace && a.Name == b.Name && a.Path == b.Path
}
