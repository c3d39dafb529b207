package server

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/rest"
)

// cborClient is a client that sends and accepts CBOR.
type cborClient struct {
	*testing.T
	s    *Server
	http *http.Client
	dynamic.Interface
	// used are the content types of the responses.
	used map[string]bool
}

// RoundTrip implements http.RoundTripper, and records which content types the server sends.
func (c *cborClient) RoundTrip(r *http.Request) (*http.Response, error) {
	w, err := c.http.Transport.RoundTrip(r)
	if err == nil {
		c.used[w.Header.Get("Content-Type")] = true
	}
	return w, err
}

func newCBORClient(t *testing.T, s *Server) *cborClient {
	t.Helper()
	h, err := rest.HTTPClientFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	c := &cborClient{T: t, s: s, http: h, used: map[string]bool{}}
	if c.Interface, err = dynamic.NewForConfigAndClient(s.RESTConfig(), &http.Client{Transport: c}); err != nil {
		t.Fatal(err)
	}
	return c
}

// use creates, reads, lists, watches, updates, patches and applies an object.
func (c *cborClient) use(objects dynamic.ResourceInterface, obj *unstructured.Unstructured) {
	c.Helper()
	ctx, name := c.Context(), obj.GetName()
	created, err := objects.Create(ctx, obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		c.Fatal(err)
	}
	got, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil || !reflect.DeepEqual(got, created) {
		c.Fatalf("got %v (%v), created %v", got, err, created)
	}
	list, err := objects.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetUID() != got.GetUID() || list.GetKind() != got.GetKind()+"List" {
		c.Fatalf("listed %v, %v", list, err)
	}
	w, err := objects.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: "0"})
	if err != nil {
		c.Fatal(err)
	}
	defer w.Stop()
	c.expect(w, watch.Added, got)
	got.SetLabels(map[string]string{"updated": "true"})
	if got, err = objects.Update(ctx, got, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil || got.GetLabels()["updated"] != "true" {
		c.Fatalf("updated %v, %v", got, err)
	}
	c.expect(w, watch.Modified, got)
	if got, err = objects.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"patched":"true"}}}`), metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
	c.expect(w, watch.Modified, got)
	applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(),
		"metadata": map[string]any{"name": name, "labels": map[string]any{"applied": "true"}}}}
	if got, err = objects.Apply(ctx, name, applied, metav1.ApplyOptions{FieldManager: "applier"}); err != nil || len(got.GetLabels()) != 3 {
		c.Fatalf("applied %v, %v", got, err)
	}
	c.expect(w, watch.Modified, got)
}

// expect waits for an event.
func (c *cborClient) expect(w watch.Interface, kind watch.EventType, obj *unstructured.Unstructured) {
	c.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok || e.Type != kind || !reflect.DeepEqual(e.Object, obj) {
			c.Fatalf("got %v, want %s %v", e, kind, obj)
		}
	case <-c.Context().Done():
		c.Fatal("no event")
	}
}

// stored returns a value in storage.
func (c *cborClient) stored(key string) string {
	c.Helper()
	value, _, err := c.s.store.Value(c.Context(), key)
	if err != nil {
		c.Fatal(err)
	}
	return string(value)
}

// TestCBOR checks that client-go can use CBOR for built-in and for custom kinds if the gate is on, that
// custom resources are then stored in CBOR, and that each of two servers with different gates reads
// what the other has stored.
func TestCBOR(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsAllowCBOR, true)
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsPreferCBOR, true)
	dir := t.TempDir()
	on := Options{Dir: dir, FeatureGates: map[string]bool{"CBORServingAndStorage": true}}
	s, err := Start(t.Context(), on)
	if err != nil {
		t.Fatal(err)
	}
	c := newCBORClient(t, s)
	secrets := c.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("default")
	c.use(secrets, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "AP8="}}})
	if value := c.stored("secrets/default/a"); !strings.HasPrefix(value, "k8s\x00") {
		t.Errorf("the secret is stored as %q", value)
	}
	c.define()
	things := c.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"})
	spec := map[string]any{"n": int64(1), "f": 1.5, "s": "x", "l": []any{int64(1), nil, true}}
	c.use(things, thing("a", spec))
	for _, contentType := range []string{"application/cbor", "application/cbor-seq"} {
		if !c.used[contentType] {
			t.Errorf("the server never used %s", contentType)
		}
	}
	if len(c.used) != 2 {
		t.Errorf("the server used %v", c.used)
	}
	spec["whole"] = 2.0 // JSON would make it an integer
	if _, err := things.Create(t.Context(), thing("whole", spec), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	value := c.stored("example.com/things/whole")
	var content map[string]any
	if err := direct.Unmarshal([]byte(value), &content); err != nil {
		t.Fatalf("%q: %v", value, err)
	}
	again, err := direct.Marshal(content)
	if err != nil || value != "\xd9\xd9\xf7"+string(again) {
		t.Errorf("the thing is stored as %q, which is not deterministic (%v)", value, err)
	}
	if !reflect.DeepEqual(content["spec"], spec) || content["metadata"].(map[string]any)["resourceVersion"] != nil {
		t.Errorf("stored %v", content)
	}
	c.refuseUnknown(things)
	halt(t, s)

	s, err = Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c = newCBORClient(t, s)
	things = c.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"})
	if got, err := things.Get(t.Context(), "a", metav1.GetOptions{}); err != nil || got.Object["spec"].(map[string]any)["f"] != 1.5 {
		t.Errorf("without the gate: %v, %v", got, err)
	}
	// The client falls back to JSON after the server has refused CBOR.
	_, err = things.Create(t.Context(), thing("b", spec), metav1.CreateOptions{})
	if apierrors.IsUnsupportedMediaType(err) {
		_, err = things.Create(t.Context(), thing("b", spec), metav1.CreateOptions{})
	}
	if value := c.stored("example.com/things/b"); err != nil || !strings.HasPrefix(value, `{"apiVersion":"example.com/v1"`) {
		t.Errorf("without the gate, a thing is stored as %q, %v", value, err)
	}
	if c.used["application/cbor"] {
		t.Error("CBOR without the gate")
	}
	halt(t, s)

	c = newCBORClient(t, run(t, on))
	things = c.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"})
	if list, err := things.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 3 {
		t.Errorf("with the gate again: %v, %v", list, err)
	}
	c.documents()
}

func thing(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": name}, "spec": spec}}
}

// define creates the kind Thing, and returns when it is served.
func (c *cborClient) define() {
	c.Helper()
	definitions := c.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := definitions.Create(c.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "things", "kind": "Thing"}, "versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	w, err := definitions.Watch(c.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		c.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		conditions, _, _ := unstructured.NestedSlice(e.Object.(*unstructured.Unstructured).Object, "status", "conditions")
		for _, condition := range conditions {
			if m := condition.(map[string]any); m["type"] == "Established" && m["status"] == "True" {
				return
			}
		}
	}
	c.Fatal("the kind is not served")
}

// refuseUnknown checks the media types of patches.
func (c *cborClient) refuseUnknown(things dynamic.ResourceInterface) {
	c.Helper()
	_, err := things.Patch(c.Context(), "a", "application/merge-patch+cbor", []byte("\xa0"), metav1.PatchOptions{})
	if want := "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, application/apply-patch+cbor"; !apierrors.IsUnsupportedMediaType(err) || !strings.HasSuffix(err.Error(), want) {
		c.Errorf("got %v", err)
	}
}

// documents checks discovery and OpenAPI.
func (c *cborClient) documents() {
	c.Helper()
	for path, kind := range map[string]string{"/api": "APIVersions", "/apis": "APIGroupList", "/apis/apps": "APIGroup", "/api/v1": "APIResourceList",
		"/apis?aggregated": "APIGroupDiscoveryList"} {
		accept := "application/cbor"
		if strings.HasSuffix(path, "aggregated") {
			accept += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		}
		body := c.fetch(path, accept, accept)
		var content map[string]any
		if err := direct.Unmarshal(body, &content); err != nil || content["kind"] != kind {
			c.Errorf("%s: %v, %v", path, content["kind"], err)
		}
	}
	var document struct {
		Paths map[string]struct {
			Get, Patch struct{ Consumes, Produces []string }
		}
	}
	if err := json.Unmarshal(c.fetch("/openapi/v2", "application/json", "application/json"), &document); err != nil {
		c.Fatal(err)
	}
	pod := document.Paths["/api/v1/namespaces/{namespace}/pods/{name}"]
	if got := strings.Join(pod.Patch.Consumes, " "); got != "application/json-patch+json application/merge-patch+json application/strategic-merge-patch+json application/apply-patch+yaml application/apply-patch+cbor" {
		c.Error(got)
	}
	pods := document.Paths["/api/v1/namespaces/{namespace}/pods"]
	if got := strings.Join(pods.Get.Produces, " "); got != "application/json application/yaml application/vnd.kubernetes.protobuf application/cbor application/json;stream=watch application/vnd.kubernetes.protobuf;stream=watch application/cbor-seq" {
		c.Error(got)
	}
	if got := strings.Join(document.Paths["/apis/example.com/v1/things/{name}"].Patch.Consumes, " "); strings.Contains(got, "cbor") {
		c.Error(got)
	}
}

func (c *cborClient) fetch(path, accept, contentType string) []byte {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, c.s.URL+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	w, err := c.http.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode != http.StatusOK || w.Header.Get("Content-Type") != contentType {
		c.Fatalf("%s: %d %v, %v", path, w.StatusCode, w.Header, err)
	}
	return body
}
