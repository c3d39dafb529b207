package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// namesake is a custom kind in a group of its own that may have the name of a built-in kind.
type namesake struct{ plural, kind string }

func (n namesake) definition() *unstructured.Unstructured {
	free := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return definitionOf(n.plural, map[string]any{"group": "example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": n.plural, "kind": n.kind},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"subresources": map[string]any{"status": map[string]any{}, "scale": map[string]any{
				"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": free, "status": free}}}}}})
}

// step is a request; its path is relative to the collection of the kind.
type step struct {
	method, path, contentType, user, body string
}

// namesakeSteps are requests whose responses do not depend on the name of the kind. KIND and PLURAL
// are replaced.
func namesakeSteps() []step {
	const object = `{"apiVersion":"example.com/v1","kind":"KIND","metadata":{"name":"%s"%s},%s}`
	const merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
	spec := `"spec":{"replicas":1,"nodeName":"n1","containers":[{"name":"c","image":"i","resources":{}}],"finalizers":["a"],"type":"x","taints":[]},"status":{"phase":"Running"}`
	all := []step{
		{"POST", "", "", "", fmt.Sprintf(object, "a", `,"labels":{"a":"b"},"finalizers":["plain"]`, spec+`,"data":{"a":"b"},"type":"t"`)},
		{"PUT", "/a/status", "", "", fmt.Sprintf(object, "a", `,"labels":{"c":"d"},"annotations":{"x":"y"},"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]`,
			`"spec":{"x":1},"status":{"conditions":[{"type":"Ready","status":"True"}],"replicas":2,"certificate":"eA=="}`)},
		{"PATCH", "/a/status?fieldManager=s", apply, "", fmt.Sprintf(object, "a", `,"labels":{"e":"f"}`, `"spec":{"y":1},"status":{"z":1}`)},
		{"PATCH", "/a?fieldManager=o&force=true", apply, "", fmt.Sprintf(object, "a", `,"labels":{"g":"h"}`, `"spec":{"replicas":3,"hostNetwork":true},"status":{"w":1}`)},
		{"PATCH", "/a/scale", merge, "", `{"spec":{"replicas":4}}`},
		{"PATCH", "/a", merge, "", `{"spec":{"nodeName":"n2","unschedulable":true,"clusterIP":"1.2.3.4"},"metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"}}}`},
		{"GET", "/a", "", "", ""},
		{"GET", "?labelSelector=g%3Dh&limit=5", "", "", ""},
		{"GET", "?fieldSelector=spec.nodeName%3Dn2", "", "", ""},
		{"GET", "?fieldSelector=metadata.name%3Da", "", "", ""},
		{"DELETE", "/a?gracePeriodSeconds=7", "", "", ""},
		{"PATCH", "/a", merge, "", `{"metadata":{"finalizers":null}}`},
		{"GET", "/a", "", "", ""},
		{"POST", "", "", "", fmt.Sprintf(object, "b", "", spec)},
		{"POST", "?dryRun=All", "", "", `{"apiVersion":"example.com/v1","kind":"KIND","metadata":{"name":"Bad_"}}`},
		{"POST", "", "", "", `{"apiVersion":"v1","kind":"KIND","metadata":{"name":"c"}}`},
	}
	// Permissions of nodes for built-in kinds do not apply to this kind.
	for _, path := range []string{"/b", ""} {
		all = append(all, step{"GET", path, "", "system:node:n1", ""})
	}
	all = append(all,
		step{"POST", "", "", "system:node:n1", fmt.Sprintf(object, "n1", "", spec)},
		step{"PATCH", "/b/status", merge, "system:node:n1", `{"status":{"phase":"x"}}`},
	)
	for _, sub := range []string{"log", "exec", "proxy", "token", "binding", "eviction", "resize", "finalize", "approval"} {
		all = append(all, step{"GET", "/b/" + sub, "", "", ""}, step{"POST", "/b/" + sub, "", "", `{}`})
	}
	// A node with RBAC permissions for the kind is not restricted otherwise.
	role := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"of-PLURAL"},"rules":[{"apiGroups":["example.com"],"resources":["PLURAL","PLURAL/status"],"verbs":["*"]}]}`
	binding := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"of-PLURAL"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"of-PLURAL"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"system:node:n1"}]}`
	quota := `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"of-PLURAL"},"spec":{"hard":{"count/PLURAL.example.com":"2"}}}`
	return append(all,
		step{"POST", "//apis/rbac.authorization.k8s.io/v1/clusterroles", "", "", role},
		step{"POST", "//apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "", "", binding},
		step{"POST", "", "", "system:node:n1", fmt.Sprintf(object, "other", `,"labels":{"node-restriction.kubernetes.io/x":"y"}`, spec)},
		step{"PATCH", "/b/status", merge, "system:node:n1", `{"status":{"phase":"x"}}`},
		step{"DELETE", "/b", "", "system:node:n1", ""},
		step{"POST", "//api/v1/namespaces/names/resourcequotas", "", "", quota},
		step{"DELETE", "?gracePeriodSeconds=0", "", "", ""},
	)
}

// recorder sends requests and records the responses without varying parts.
type recorder struct {
	t      *testing.T
	client *http.Client
	url    string
}

var varying = regexp.MustCompile(`"(uid|resourceVersion|time|creationTimestamp|deletionTimestamp)":"[^"]*"`)

func (a recorder) ask(n namesake, s step) string {
	a.t.Helper()
	named := strings.NewReplacer("PLURAL", n.plural, "KIND", n.kind)
	path, absolute := strings.CutPrefix(s.path, "/")
	if !absolute || !strings.HasPrefix(path, "/") {
		path = "/apis/example.com/v1/namespaces/names/" + n.plural + s.path
	}
	req, err := http.NewRequestWithContext(a.t.Context(), s.method, a.url+path, strings.NewReader(named.Replace(s.body)))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "names/1")
	if s.contentType != "" {
		req.Header.Set("Content-Type", s.contentType)
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.user != "" {
		req.Header.Set("Impersonate-User", s.user)
		req.Header.Add("Impersonate-Group", "system:nodes")
		req.Header.Add("Impersonate-Group", "system:authenticated")
	}
	answer, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	var content any
	if json.Unmarshal(body, &content) == nil {
		sortOwners(content)
		if body, err = json.Marshal(content); err != nil {
			a.t.Fatal(err)
		}
	}
	text := varying.ReplaceAllString(string(body), `"$1":"..."`)
	return fmt.Sprintf("%d %q %s", answer.StatusCode, answer.Header.Values("Warning"), text)
}

// sortOwners sorts managedFields by their fields, since their order by time is not deterministic
// within a second.
func sortOwners(content any) {
	switch v := content.(type) {
	case []any:
		for _, item := range v {
			sortOwners(item)
		}
	case map[string]any:
		for _, value := range v {
			sortOwners(value)
		}
		if owners, ok := v["managedFields"].([]any); ok {
			slices.SortFunc(owners, func(a, b any) int { return strings.Compare(ownership(a), ownership(b)) })
		}
	}
}

func ownership(entry any) string {
	m, _ := entry.(map[string]any)
	return fmt.Sprint(m["manager"], m["operation"], m["subresource"], m["fieldsV1"])
}

// TestNamesakes checks that a custom kind with the name of a built-in kind in another group behaves
// like any custom kind.
func TestNamesakes(t *testing.T) {
	srv, _ := startWith(t, server.Options{Admission: server.Admission{EnablePlugins: []string{"NodeRestriction"}},
		Authorization: server.Authorization{Modes: []string{"Node", "RBAC"}}})
	client, err := rest.HTTPClientFor(srv.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	a := recorder{t, client, srv.URL}
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	a.ask(namesake{}, step{method: "POST", path: "//api/v1/namespaces", body: `{"metadata":{"name":"names"}}`})
	plain := namesake{"widgets", "Widget"}
	define(t, c, plain.definition())
	var want []string
	for _, s := range namesakeSteps() {
		want = append(want, a.ask(plain, s))
	}
	for _, n := range []namesake{
		{"deployments", "Deployment"}, {"pods", "Pod"}, {"nodes", "Node"}, {"services", "Service"}, {"events", "Event"},
		{"secrets", "Secret"}, {"leases", "Lease"}, {"customresourcedefinitions", "CustomResourceDefinition"},
		{"namespaces", "Namespace"}, {"configmaps", "ConfigMap"}, {"serviceaccounts", "ServiceAccount"},
		{"certificatesigningrequests", "CertificateSigningRequest"}, {"apiservices", "APIService"},
		{"persistentvolumeclaims", "PersistentVolumeClaim"}, {"clusterroles", "ClusterRole"}, {"bindings", "Binding"},
		{"tokenreviews", "TokenReview"}, {"scales", "Scale"}, {"validatingadmissionpolicies", "ValidatingAdmissionPolicy"},
		{"volumeattachments", "VolumeAttachment"}, {"ingresses", "Ingress"}, {"jobs", "Job"},
	} {
		define(t, c, n.definition())
		same := strings.NewReplacer(n.plural, plain.plural, n.kind, plain.kind)
		for i, s := range namesakeSteps() {
			if got := a.ask(n, s); same.Replace(got) != same.Replace(want[i]) {
				t.Errorf("%s: %s %s\n got %s\nwant %s", n.plural, s.method, s.path, got, want[i])
			}
		}
	}
}
