package match

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// requestOf returns a request described like "create v1 pods/status ns/name".
func requestOf(t testing.TB, text string, obj, old api.Object) *Request {
	t.Helper()
	part := strings.Fields(text)
	gv, err := schema.ParseGroupVersion(part[1])
	if err != nil {
		t.Fatal(err)
	}
	c := registrytest.Catalogue(t)
	resource, sub, _ := strings.Cut(part[2], "/")
	res, v, ok := c.Lookup(gv, resource)
	if !ok {
		t.Fatalf("there is no %s", text)
	}
	namespace, name, _ := strings.Cut(part[3], "/")
	a := &registry.Attributes{Verb: part[0], Resource: res, Version: v, Subresource: sub, Namespace: namespace, Name: name,
		Kind: v.WithKind(res.Kind), Object: obj, Old: old, User: &request.User{Name: "jane", Groups: []string{"dev"}}}
	if kind := api.BodyKind(res.Subresource(sub)); kind != nil {
		a.Kind = kind.Versions[0].WithKind(kind.Kind)
	}
	return NewRequest(a, func(_ context.Context, name string) (*corev1.Namespace, error) {
		if name == "gone" {
			return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
		}
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}, nil
	})
}

func criteria(t testing.TB, text string) *Criteria {
	t.Helper()
	m := &admissionv1.MatchResources{}
	if err := yaml.UnmarshalStrict([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	if m.MatchPolicy == nil {
		equivalent := admissionv1.Equivalent
		m.MatchPolicy = &equivalent
	}
	for _, s := range []**metav1.LabelSelector{&m.NamespaceSelector, &m.ObjectSelector} {
		if *s == nil {
			*s = &metav1.LabelSelector{}
		}
	}
	return NewCriteria(m)
}

// TestCriteria checks which requests rules and selectors match, and in which form.
func TestCriteria(t *testing.T) {
	rule := func(groups, versions, resources string, more ...string) string {
		return `{operations: ["*"], apiGroups: ["` + groups + `"], apiVersions: ["` + versions + `"], resources: [` + resources + `]` + strings.Join(more, "") + `}`
	}
	rules := func(list string) string { return "resourceRules: [" + list + "]" }
	labelled := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	for _, tt := range []struct {
		name, criteria, request, want string
	}{
		{"plain", rules(rule("", "v1", "pods")), "create v1 pods ns/x", "v1, Resource=pods"},
		{"stars", rules(rule("*", "*", `"*/*"`)), "update v1 pods/status ns/x", "v1, Resource=pods"},
		{"no subresource", rules(rule("", "v1", "pods")), "update v1 pods/status ns/x", ""},
		{"all resources, no subresource", rules(rule("", "v1", `"*"`)), "update v1 pods/status ns/x", ""},
		{"one subresource of all", rules(rule("", "v1", `"*/status"`)), "update v1 pods/status ns/x", "v1, Resource=pods"},
		{"another group", rules(rule("apps", "v1", "pods")), "create v1 pods ns/x", ""},
		{"another version", rules(rule("autoscaling", "v1", "horizontalpodautoscalers")), "create autoscaling/v2 horizontalpodautoscalers ns/x", "autoscaling/v1, Resource=horizontalpodautoscalers"},
		{"exactly another version", "matchPolicy: Exact\n" + rules(rule("autoscaling", "v1", "horizontalpodautoscalers")), "create autoscaling/v2 horizontalpodautoscalers ns/x", ""},
		{"another group of the same", rules(rule("", "v1", "events")), "create events.k8s.io/v1 events ns/x", "v1, Resource=events"},
		{"the client's version first", rules(rule("autoscaling", "v1", "horizontalpodautoscalers") + "," + rule("autoscaling", "v2", "horizontalpodautoscalers")), "create autoscaling/v2 horizontalpodautoscalers ns/x", "autoscaling/v2, Resource=horizontalpodautoscalers"},
		{"operation", `resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`, "update v1 pods ns/x", ""},
		{"connect", `resourceRules: [{operations: [CONNECT], apiGroups: [""], apiVersions: [v1], resources: [pods/exec]}]`, "connect v1 pods/exec ns/x", "v1, Resource=pods"},
		{"cluster scope", rules(rule("", "v1", `"*"`, ", scope: Cluster")), "create v1 pods ns/x", ""},
		{"cluster scope of namespaces", rules(rule("", "v1", `"*"`, ", scope: Cluster")), "create v1 namespaces /x", "v1, Resource=namespaces"},
		{"namespaced scope", rules(rule("", "v1", `"*"`, ", scope: Namespaced")), "create v1 pods ns/x", "v1, Resource=pods"},
		{"namespaces are in none", rules(rule("", "v1", `"*"`, ", scope: Namespaced")), "create v1 namespaces /x", ""},
		{"name", rules(rule("", "v1", "pods", ", resourceNames: [y, x]")), "create v1 pods ns/x", "v1, Resource=pods"},
		{"another name", rules(rule("", "v1", "pods", ", resourceNames: [y]")), "create v1 pods ns/x", ""},
		{"excluded", rules(rule("", "v1", "pods")) + "\nexcludeResourceRules: [" + rule("", "v1", "pods", ", resourceNames: [x]") + "]", "create v1 pods ns/x", ""},
		{"not excluded", rules(rule("", "v1", "pods")) + "\nexcludeResourceRules: [" + rule("", "v1", "pods", ", resourceNames: [x]") + "]", "create v1 pods ns/y", "v1, Resource=pods"},
		{"no rules", "{}", "create v1 pods ns/x", "v1, Resource=pods"},
		{"namespace selected", rules(rule("", "v1", "pods")) + "\nnamespaceSelector: {matchLabels: {name: ns}}", "create v1 pods ns/x", "v1, Resource=pods"},
		{"namespace not selected", rules(rule("", "v1", "pods")) + "\nnamespaceSelector: {matchLabels: {name: other}}", "create v1 pods ns/x", ""},
		{"no namespace to select", rules(rule("", "v1", "nodes")) + "\nnamespaceSelector: {matchLabels: {name: other}}", "create v1 nodes /x", "v1, Resource=nodes"},
		{"namespace by its old labels", rules(rule("", "v1", "namespaces")) + "\nnamespaceSelector: {matchLabels: {name: x}}", "delete v1 namespaces /x", "v1, Resource=namespaces"},
		{"namespace is gone", rules(rule("", "v1", "pods")) + "\nnamespaceSelector: {matchLabels: {name: ns}}", "delete v1 pods gone/x", `error: namespaces "gone" not found`},
		{"nobody's business", rules(rule("", "v1", "nodes")) + "\nnamespaceSelector: {matchLabels: {name: ns}}", "delete v1 pods gone/x", ""},
		{"object selected", rules(rule("", "v1", "pods")) + "\nobjectSelector: {matchLabels: {a: b}}", "create v1 pods ns/labelled", "v1, Resource=pods"},
		{"object not selected", rules(rule("", "v1", "pods")) + "\nobjectSelector: {matchLabels: {a: c}}", "create v1 pods ns/labelled", ""},
		{"old object selected", rules(rule("", "v1", "pods")) + "\nobjectSelector: {matchLabels: {a: b}}", "delete v1 pods ns/labelled", "v1, Resource=pods"},
		{"bad selector", rules(rule("", "v1", "pods")) + "\nobjectSelector: {matchExpressions: [{key: a, operator: X}]}", "create v1 pods ns/x", `error: Internal error occurred: "X" is not a valid label selector operator`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var obj, old api.Object
			switch {
			case !strings.HasSuffix(tt.request, "labelled"):
			case strings.HasPrefix(tt.request, "delete"):
				old = labelled
			default:
				obj = labelled
			}
			form, ok, err := criteria(t, tt.criteria).Match(t.Context(), requestOf(t, tt.request, obj, old))
			got := ""
			switch {
			case err != nil:
				got = "error: " + err.Error()
			case ok:
				got = strings.TrimPrefix(form.Resource.String(), "/")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestConditions checks the variables of match conditions and the handling of errors.
func TestConditions(t *testing.T) {
	two := int32(2)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}, Spec: appsv1.DeploymentSpec{Replicas: &two}}
	for _, tt := range []struct {
		name       string
		conditions []string
		want       string
	}{
		{"none", nil, "ok"},
		{"object", []string{"object.apiVersion == 'apps/v1' && object.kind == 'Deployment' && object.spec.replicas == 2"}, "ok"},
		{"no old object", []string{"oldObject == null"}, "ok"},
		{"request", []string{"request.operation == 'CREATE' && request.userInfo.username == 'jane' && 'dev' in request.userInfo.groups && request.namespace == 'ns' && !has(request.subResource) && request.kind.kind == 'Deployment' && request.requestResource.version == 'v1' && request.dryRun == false && request.options.kind == 'CreateOptions'"}, "ok"},
		{"not shown", []string{"namespaceObject == null"}, "ok"},
		{"authorizer", []string{"authorizer.group('apps').resource('deployments').namespace('ns').check('get').allowed()", "!authorizer.requestResource.check('delete').allowed()", "authorizer.requestResource.check('delete').reason() == 'no'", "!authorizer.path('/metrics').check('get').allowed()"}, "ok"},
		{"one is false", []string{"true", "object.spec.replicas > 2", "true"}, "not c1"},
		{"false before errors", []string{"object.nosuch == 1", "false"}, "not c1"},
		{"error", []string{"object.nosuch == 1"}, "expression 'object.nosuch == 1' resulted in error: no such key: nosuch"},
		{"two errors", []string{"object.nosuch == 1", "object.spec.nosuch == 1"}, "[expression 'object.nosuch == 1' resulted in error: no such key: nosuch, expression 'object.spec.nosuch == 1' resulted in error: no such key: nosuch]"},
		{"too dear", []string{"[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, true))))))"},
			"operation cancelled: actual cost limit exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := requestOf(t, "create apps/v1 deployments ns/x", deployment, nil)
			ask := NewRequestAuthorizer(func(_ context.Context, user *request.User, info *request.Info) (bool, string, error) {
				return user.Name == "jane" && info.Verb == "get" && info.Resource != "", "no", nil
			})
			m, err := NewMetrics(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, policy := range []admissionv1.FailurePolicyType{admissionv1.Fail, admissionv1.Ignore} {
				cs := NewConditions(Owner{"o", "webhook", "admit"}, expression.NewCompiler(expression.Scope{}), conditions(tt.conditions), &policy, m)
				ok, not, err := cs.Match(t.Context(), &Input{Request: r, Form: r.Asked(), Authorizer: ask})
				got := "not " + not
				switch {
				case err != nil:
					got = err.Error()
				case ok:
					got = "ok"
				}
				want := tt.want
				if policy == admissionv1.Ignore && want != "ok" && !strings.HasPrefix(want, "not c") {
					want = "not "
				}
				if !strings.Contains(got, want) || got == "ok" != (want == "ok") {
					t.Errorf("%s: got %q, want %q", policy, got, want)
				}
			}
		})
	}
}

func conditions(texts []string) []admissionv1.MatchCondition {
	var out []admissionv1.MatchCondition
	for i, text := range texts {
		out = append(out, admissionv1.MatchCondition{Name: "c" + string(rune('0'+i)), Expression: text})
	}
	return out
}

// TestFormOfAnotherVersion checks that expressions see the object in the version of the matching
// rule.
func TestFormOfAnotherVersion(t *testing.T) {
	hub := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "ns"}, Message: "hello"}
	for version, field := range map[string]string{"v1": "message", "events.k8s.io/v1": "note"} {
		r := requestOf(t, "create events.k8s.io/v1 events ns/e", hub, nil)
		gv, _ := schema.ParseGroupVersion(version)
		m, err := r.As(r.form(r.Resource.Version(gv)))
		if err != nil || m[field] != "hello" || m["apiVersion"] != version || m["kind"] != "Event" {
			t.Errorf("%s: %v, %v", version, m, err)
		}
	}
}

// TestPatchToAnotherVersion checks that a patched custom object of another version of its kind is converted to
// that of the form, and that the version of no kind is refused.
func TestPatchToAnotherVersion(t *testing.T) {
	d := &custom.Definition{}
	d.Spec.Group = "example.com"
	d.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing", ListKind: "ThingList"}
	d.Status.AcceptedNames = d.Spec.Names
	for _, name := range []string{"v1", "v2"} {
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: name == "v1"})
	}
	kind, err := custom.Compile(d, func() (*custom.Definition, error) { return d, nil }, custom.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res := kind.Resource
	sent := res.New()
	r := &Request{Attributes: &registry.Attributes{Resource: res, Version: &res.Versions[0], Kind: res.Versions[0].WithKind("Thing"), Object: sent}}
	var decoder PatchDecoder
	for version, want := range map[string]string{"v1": "", "v2": "", "v3": "request to convert CR from an invalid group/version: example.com/v3"} {
		obj, err := decoder.Patched(r, r.Asked(), []byte(`{"apiVersion":"example.com/`+version+`","kind":"Thing","metadata":{"name":"a"}}`))
		switch {
		case want != "":
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", version, err, want)
			}
		case err != nil:
			t.Errorf("%s: %v", version, err)
		case obj.GetObjectKind().GroupVersionKind().Version != "v1":
			t.Errorf("%s: got %v", version, obj.GetObjectKind().GroupVersionKind())
		}
	}
}
