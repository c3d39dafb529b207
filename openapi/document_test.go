package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestCustomDocument checks that the document of custom resources equals that of
// kube-apiserver for the same CustomResourceDefinition, except for the order of keys.
func TestCustomDocument(t *testing.T) {
	var want struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	var whole json.RawMessage
	loadTestdata(t, "custom-document.json.gz", &whole)
	if err := json.Unmarshal(whole, &want); err != nil {
		t.Fatal(err)
	}
	defs := open(t)
	const model = "example.parity.kzkzh.v1.Widget"
	for _, name := range []string{model, model + "List"} {
		var compact strings.Builder
		encoder := json.NewEncoder(&compact)
		if err := encoder.Encode(want.Components.Schemas[name]); err != nil {
			t.Fatal(err)
		}
		defs = defs.With(Definition{Name: name, V3: []byte(strings.TrimSpace(compact.String()))})
	}
	got, err := VersionDocument(schema.GroupVersion{Group: "kzkzh.parity.example", Version: "v1"}, []Resource{{
		Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: everyVerb(),
		Model: model, ListModel: model + "List", Custom: true,
	}}).V3(Info{Version: "1.37"}, defs)
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(t, got, whole) {
		t.Errorf("got\n%s\nwant\n%s", got, whole)
	}
}

func everyVerb() []string {
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

func pods() Resource {
	const model = "io.k8s.api.core.v1.Pod"
	return Resource{
		Name: "pods", Kind: "Pod", Namespaced: true, Verbs: everyVerb(), Model: model, ListModel: model + "List",
		DeleteReturnsObject: true,
		Subresources: []Subresource{
			{Name: "status", Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Model: model, Verbs: []string{"get", "patch", "update"}},
			{Name: "eviction", Kind: schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"},
				Model: "io.k8s.api.policy.v1.Eviction", Verbs: []string{"create"}},
		},
	}
}

// parsed has the members of a document that the tests check.
type parsed struct {
	Info struct{ Version string }
	// Paths are the operations by path and method, and the parameters of each path.
	Paths      map[string]map[string]json.RawMessage
	Components map[string]json.RawMessage
}

type parsedOperation struct {
	OperationID string
	Description string
	Tags        []string
	Action      string                  `json:"x-kubernetes-action"`
	Kind        schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	Responses   map[string]json.RawMessage
}

func TestOperations(t *testing.T) {
	core := VersionDocument(schema.GroupVersion{Version: "v1"}, []Resource{pods()})
	rbac := VersionDocument(schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}, []Resource{{
		Name: "clusterroles", Kind: "ClusterRole", Verbs: everyVerb(),
		Model: "io.k8s.api.rbac.v1.ClusterRole", ListModel: "io.k8s.api.rbac.v1.ClusterRoleList",
	}})
	for _, c := range []struct {
		doc                                 Document
		path, method, id, description, more string
	}{
		{core, "/api/v1/", "get", "getCoreV1APIResources", "get available resources", "core_v1  200 401"},
		{core, "/api/v1/pods", "get", "listCoreV1PodForAllNamespaces", "list or watch objects of kind Pod", "core_v1 list 200 401"},
		{core, "/api/v1/namespaces/{namespace}/pods", "delete", "deleteCoreV1CollectionNamespacedPod", "delete collection of Pod", "core_v1 deletecollection 200 401"},
		{core, "/api/v1/namespaces/{namespace}/pods", "post", "createCoreV1NamespacedPod", "create a Pod", "core_v1 post 200 201 202 401"},
		{core, "/api/v1/namespaces/{namespace}/pods/{name}", "put", "replaceCoreV1NamespacedPod", "replace the specified Pod", "core_v1 put 200 201 401"},
		{core, "/api/v1/namespaces/{namespace}/pods/{name}/status", "patch", "patchCoreV1NamespacedPodStatus", "partially update status of the specified Pod", "core_v1 patch 200 201 401"},
		{core, "/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "createCoreV1NamespacedPodEviction", "create eviction of a Pod", "core_v1 post 200 201 202 401"},
		{core, "/api/v1/watch/pods", "get", "watchCoreV1PodListForAllNamespaces", "watch individual changes to a list of Pod. deprecated: use the 'watch' parameter with a list operation instead.", "core_v1 watchlist 200 401"},
		{rbac, "/apis/rbac.authorization.k8s.io/v1/clusterroles", "delete", "deleteRbacAuthorizationV1CollectionClusterRole", "delete collection of ClusterRole", "rbacAuthorization_v1 deletecollection 200 401"},
		{rbac, "/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}", "get", "readRbacAuthorizationV1ClusterRole", "read the specified ClusterRole", "rbacAuthorization_v1 get 200 401"},
		{GroupDocument("apps"), "/apis/apps/", "get", "getAppsAPIGroup", "get information of a group", "apps  200 401"},
		{ServerDocument(), "/version/", "get", "getCodeVersion", "get the version information for this server", "version  200 401"},
	} {
		doc := parseV3(t, c.doc)
		var op parsedOperation
		if err := json.Unmarshal(doc.Paths[c.path][c.method], &op); err != nil {
			t.Fatalf("%s %s: %v in %v", c.method, c.path, err, slices.Sorted(maps.Keys(doc.Paths)))
		}
		codes := strings.Join(slices.Sorted(maps.Keys(op.Responses)), " ")
		more := strings.Join(op.Tags, ",") + " " + op.Action + " " + codes
		if op.OperationID != c.id || op.Description != c.description || more != c.more {
			t.Errorf("%s %s: %q, %q, %q\nwant %q, %q, %q", c.method, c.path, op.OperationID, op.Description, more, c.id, c.description, c.more)
		}
	}
}

// TestNameParameter checks that the name of a subresource's object is that of the subresource's kind.
func TestNameParameter(t *testing.T) {
	doc := parseV3(t, VersionDocument(schema.GroupVersion{Version: "v1"}, []Resource{pods()}))
	for subresource, want := range map[string]string{"status": "name of the Pod", "eviction": "name of the Eviction"} {
		var params []struct{ Name, Description string }
		if err := json.Unmarshal(doc.Paths["/api/v1/namespaces/{namespace}/pods/{name}/"+subresource]["parameters"], &params); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(params, func(p struct{ Name, Description string }) bool { return p.Name == "name" })
		if i < 0 || params[i].Description != want {
			t.Errorf("%s: %v, want %q", subresource, params, want)
		}
	}
}

// TestIssuerDocuments checks that the documents of the token issuer have no definitions, and consume
// nothing in version 2.
func TestIssuerDocuments(t *testing.T) {
	for _, d := range []Document{IssuerDocument(), IssuerKeysDocument()} {
		doc := parseV3(t, d)
		if doc.Info.Version != "1.37" || doc.Components["schemas"] != nil || doc.Components["securitySchemes"] == nil {
			t.Errorf("%s: version %q, components %s", d.Name, doc.Info.Version, doc.Components)
		}
		part, err := d.V2()
		if err != nil {
			t.Fatal(err)
		}
		if text := string(part.Paths.Text); !strings.Contains(text, `"produces":["application/j`) || strings.Contains(text, "consumes") {
			t.Errorf("%s: %s", d.Name, text)
		}
	}
}

func parseV3(t *testing.T, d Document) parsed {
	t.Helper()
	content, err := d.V3(Info{Version: "1.37"}, open(t))
	if err != nil {
		t.Fatal(err)
	}
	var out parsed
	if err := json.Unmarshal(content, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSharedParameters checks that the names of shared parameters equal kube-apiserver's.
func TestSharedParameters(t *testing.T) {
	doc := writtenV2(t)
	for _, name := range []string{"namespace-vgWSWtn3", "pretty-tJGM1-ng", "allowWatchBookmarks-HC2hJt-J", "body-78PwaGsr"} {
		if doc.Parameters[name] == nil {
			t.Errorf("no %s in %q", name, slices.Sorted(maps.Keys(doc.Parameters)))
		}
	}
}

func TestWithArticle(t *testing.T) {
	for kind, want := range map[string]string{
		"Pod": "a Pod", "Event": "an Event", "Ingress": "an Ingress", "Endpoints": "Endpoints", "StorageClass": "a StorageClass", "": "a ",
	} {
		if got := withArticle(kind); got != want {
			t.Errorf("%q: %q, want %q", kind, got, want)
		}
	}
}
