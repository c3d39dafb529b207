package conformance

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// converter is a conversion webhook: version v1 has spec.color, v2 has spec.colour.name.
type converter struct {
	*httptest.Server
	calls, objects atomic.Int64

	mu     sync.Mutex
	spoil  func(map[string]any) // makes a converted object invalid
	refuse string               // error message of failed conversions
}

func newConverter(t *testing.T) *converter {
	c := &converter{}
	c.Server = httptest.NewTLSServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Close)
	return c
}

func (c *converter) behave(refuse string, spoil func(map[string]any)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse, c.spoil = refuse, spoil
}

func (c *converter) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.calls.Add(1)
	asked := review["request"].(map[string]any)
	to := asked["desiredAPIVersion"].(string)
	result := map[string]any{"status": "Success"}
	converted := []any{}
	for _, o := range asked["objects"].([]any) {
		c.objects.Add(1)
		object := o.(map[string]any)
		object["apiVersion"] = to
		if spec, ok := object["spec"].(map[string]any); ok {
			repaint(spec, strings.HasSuffix(to, "/v2"))
		}
		if c.spoil != nil {
			c.spoil(object)
		}
		converted = append(converted, object)
	}
	if c.refuse != "" {
		result, converted = map[string]any{"status": "Failure", "message": c.refuse}, nil
	}
	delete(review, "request")
	review["response"] = map[string]any{"uid": asked["uid"], "result": result, "convertedObjects": converted}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func repaint(spec map[string]any, newer bool) {
	if color, ok := spec["color"]; ok && newer {
		delete(spec, "color")
		spec["colour"] = map[string]any{"name": color}
	}
	if colour, ok := spec["colour"].(map[string]any); ok && !newer {
		delete(spec, "colour")
		spec["color"] = colour["name"]
	}
}

// paints returns the definition of objects that c converts.
func (c *converter) paints(review, stored string) *unstructured.Unstructured {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	text := map[string]any{"type": "string"}
	schemas := map[string]any{"color": text, "colour": map[string]any{"type": "object", "properties": map[string]any{"name": text}}}
	version := func(name, property string) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": name == stored, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": map[string]any{
				property: schemas[property],
			}}}}},
			"additionalPrinterColumns": []any{map[string]any{"name": property, "type": "string", "jsonPath": ".spec." + property}},
		}
	}
	return definitionOf("paints", map[string]any{
		"group": "art.example.com", "scope": "Namespaced", "names": map[string]any{"plural": "paints", "kind": "Paint"},
		"versions": []any{version("v1", "color"), version("v2", "colour")},
		"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v9", review}, "clientConfig": map[string]any{"url": c.URL + "/convert", "caBundle": ca},
		}},
	})
}

func definitionOf(plural string, spec map[string]any) *unstructured.Unstructured {
	data, err := json.Marshal(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + spec["group"].(string)}, "spec": spec})
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return u
}

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// define creates a definition and waits until it is established.
func define(t *testing.T, c dynamic.Interface, d *unstructured.Unstructured) {
	t.Helper()
	if _, err := c.Resource(definitionResource).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "established", func(ctx context.Context) (bool, error) {
		is, err := c.Resource(definitionResource).Get(ctx, d.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(is.Object, "status", "conditions")
		for _, condition := range conditions {
			if m := condition.(map[string]any); m["type"] == "Established" && m["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
}

// paint returns an object of version v1 or v2.
func paint(version, name, color string) *unstructured.Unstructured {
	spec := map[string]any{"color": color}
	if version == "v2" {
		repaint(spec, true)
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "art.example.com/" + version, "kind": "Paint",
		"metadata": map[string]any{"name": name}, "spec": spec}}
}

// colorOf returns the color of an object in either version.
func colorOf(u *unstructured.Unstructured) string {
	path := []string{"spec", "color"}
	if u.GetAPIVersion() == "art.example.com/v2" {
		path = []string{"spec", "colour", "name"}
	}
	text, _, _ := unstructured.NestedString(u.Object, path...)
	return text
}

// paintsIn returns clients of both versions.
func paintsIn(c dynamic.Interface) (v1, v2 dynamic.ResourceInterface) {
	of := func(version string) dynamic.ResourceInterface {
		return c.Resource(schema.GroupVersionResource{Group: "art.example.com", Version: version, Resource: "paints"}).Namespace("default")
	}
	return of("v1"), of("v2")
}

// TestConversionWebhook checks reads, writes, patches, applies, lists, watches and deletes in each
// version, whichever version is stored.
func TestConversionWebhook(t *testing.T) {
	for _, review := range []string{"v1", "v1beta1"} {
		t.Run(review, func(t *testing.T) {
			hook := newConverter(t)
			srv, _ := startWith(t, server.Options{})
			c := dynamic.NewForConfigOrDie(srv.RESTConfig())
			define(t, c, hook.paints(review, "v1"))
			convertedWrites(t, c)
			convertedReads(t, c, hook)
			changedStorage(t, c, hook)
			countedConversions(t, srv)
		})
	}
}

// countedConversions checks the conversion metrics.
func countedConversions(t *testing.T, srv *server.Server) {
	t.Helper()
	c, err := rest.HTTPClientFor(srv.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Get(srv.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`apiserver_conversion_webhook_request_total{failure_type="",result="success"}`,
		`apiserver_conversion_webhook_request_total{failure_type="conversion_webhook_malformed_response_failure",result="failure"}`,
		`apiserver_conversion_webhook_duration_seconds_count{failure_type="",result="success"}`,
		`apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="paints.art.example.com",from_version="v1",succeeded="true",to_version="v2"}`,
		`apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="paints.art.example.com",from_version="v1",succeeded="false",to_version="v2"}`,
		`apiextensions_apiserver_validation_ratcheting_seconds_count`,
	} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(line) + ` [1-9]`).Match(body) {
			t.Errorf("no %s", line)
		}
	}
}

func convertedWrites(t *testing.T, c dynamic.Interface) {
	ctx := t.Context()
	v1, v2 := paintsIn(c)
	expect := func(color string, u *unstructured.Unstructured, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := colorOf(u); got != color {
			t.Errorf("%s of %s is %q, want %q: %v", u.GetName(), u.GetAPIVersion(), got, color, u.Object["spec"])
		}
	}
	u, err := v2.Create(ctx, paint("v2", "a", "red"), metav1.CreateOptions{})
	expect("red", u, err)
	u, err = v1.Get(ctx, "a", metav1.GetOptions{})
	expect("red", u, err)
	u.Object["spec"] = map[string]any{"color": "blue"}
	u, err = v1.Update(ctx, u, metav1.UpdateOptions{})
	expect("blue", u, err)
	u, err = v2.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"colour":{"name":"green"}}}`), metav1.PatchOptions{})
	expect("green", u, err)
	if u.GetGeneration() != 3 {
		t.Errorf("generation is %d, want 3", u.GetGeneration())
	}
	u, err = v2.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"colour":{"name":"grey"}}}`), metav1.PatchOptions{DryRun: []string{"All"}})
	expect("grey", u, err)
	u, err = v2.Apply(ctx, "b", paint("v2", "b", "white"), metav1.ApplyOptions{FieldManager: "x"})
	expect("white", u, err)
	u, err = v1.Apply(ctx, "b", paint("v1", "b", "black"), metav1.ApplyOptions{FieldManager: "x"})
	expect("black", u, err)
	if _, err = v1.Apply(ctx, "b", paint("v1", "b", "brown"), metav1.ApplyOptions{FieldManager: "y"}); !apierrors.IsConflict(err) {
		t.Errorf("a field that another owns is applied: %v", err)
	}
}

func convertedReads(t *testing.T, c dynamic.Interface, hook *converter) {
	ctx := t.Context()
	v1, v2 := paintsIn(c)
	w, err := v2.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for i := range 20 {
		if _, err := v1.Create(ctx, paint("v1", fmt.Sprintf("many-%02d", i), "pink"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 22 {
		if e := <-w.ResultChan(); e.Type != watch.Added || colorOf(e.Object.(*unstructured.Unstructured)) == "" {
			t.Errorf("event %s of %v", e.Type, e.Object)
		}
	}
	before := hook.calls.Load()
	list, err := v2.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if colorOf(&list.Items[i]) == "" || list.Items[i].GetAPIVersion() != "art.example.com/v2" {
			t.Errorf("listed: %v", list.Items[i].Object)
		}
	}
	if calls := hook.calls.Load() - before; len(list.Items) != 22 || calls > 1 {
		t.Errorf("%d items were listed with %d calls", len(list.Items), calls)
	}
	before = hook.calls.Load() // a get shows what the hook answers now, one from the cache what it answered
	for _, o := range []metav1.GetOptions{{}, {ResourceVersion: "0"}, {}} {
		if u, err := v2.Get(ctx, "many-00", o); err != nil || colorOf(u) != "pink" {
			t.Errorf("%v, %v", u, err)
		}
	}
	if calls := hook.calls.Load() - before; calls != 2 {
		t.Errorf("three gets, one of them from the cache, needed %d calls", calls)
	}
	if err := v2.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if e := <-w.ResultChan(); e.Type != watch.Deleted || colorOf(e.Object.(*unstructured.Unstructured)) != "green" {
		t.Errorf("event %s of %v", e.Type, e.Object)
	}
}

// changedStorage checks that objects stored in the previous version are readable, and are stored in
// the new one by the next write.
func changedStorage(t *testing.T, c dynamic.Interface, hook *converter) {
	ctx := t.Context()
	v1, v2 := paintsIn(c)
	was, err := v1.Get(ctx, "many-00", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := "paints.art.example.com"
	swap := `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`
	d, err := c.Resource(definitionResource).Patch(ctx, name, types.JSONPatchType, []byte(swap), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stored, _, _ := unstructured.NestedStringSlice(d.Object, "status", "storedVersions"); fmt.Sprint(stored) != "[v1 v2]" {
		t.Errorf("stored versions are %v", stored)
	}
	// A write without changes stores the object in the new version, once.
	eventually(t, "stored in another version", func(ctx context.Context) (bool, error) {
		u, err := v2.Patch(ctx, "many-00", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		return err == nil && u.GetResourceVersion() != was.GetResourceVersion() && colorOf(u) == "pink", err
	})
	first, err := v1.Get(ctx, "many-00", metav1.GetOptions{})
	if err != nil || colorOf(first) != "pink" {
		t.Errorf("%v, %v", first, err)
	}
	// Objects stored in the requested version need no conversion.
	hook.behave("no more", nil)
	if _, err := v2.Get(ctx, "many-00", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if u, err := v1.Create(ctx, paint("v1", "late", "red"), metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "conversion webhook for art.example.com/v1, Kind=Paint failed: no more") {
		t.Errorf("%v, %v", u, err)
	}
	removePath := `[{"op":"remove","path":"/spec/versions/0"}]`
	if _, err := c.Resource(definitionResource).Patch(ctx, name, types.JSONPatchType, []byte(removePath), metav1.PatchOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must remain in spec.versions") {
		t.Errorf("a version that may be stored is removed: %v", err)
	}
}

// TestUnconverted checks that stored objects that the webhook cannot convert are reported like corrupt
// ones, unless the gate is off, and that a write keeps the managedFields that it cannot convert.
func TestUnconverted(t *testing.T) {
	for _, isCorrupt := range []bool{true, false} {
		hook := newConverter(t)
		srv, _ := startWith(t, server.Options{FeatureGates: map[string]bool{"AllowUnsafeMalformedObjectDeletion": isCorrupt}})
		c := dynamic.NewForConfigOrDie(srv.RESTConfig())
		define(t, c, hook.paints("v1", "v1"))
		v1, v2 := paintsIn(c)
		before, err := v2.Create(t.Context(), paint("v2", "a", "red"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		hook.behave("out of paint", nil)
		const cause = "conversion webhook for art.example.com/v1, Kind=Paint failed: out of paint"
		const patch = `{"metadata":{"labels":{"a":"b"}}}`
		after, err := v1.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil || len(before.GetManagedFields()) == 0 || !reflect.DeepEqual(after.GetManagedFields(), before.GetManagedFields()) {
			t.Errorf("managedFields after a write: %v, %v", after, err)
		}
		_, get := v2.Get(t.Context(), "a", metav1.GetOptions{})
		_, list := v2.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		remove := v2.Delete(t.Context(), "a", metav1.DeleteOptions{})
		_, patched := v2.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		for verb, tt := range map[string]struct {
			err    error
			reason metav1.StatusReason // with the gate
		}{
			"get":    {get, metav1.StatusReasonInternalError},
			"list":   {list, metav1.StatusReasonStoreReadError},
			"delete": {remove, metav1.StatusReasonInternalError},
			"patch":  {patched, ""}, // it reads the object to write it
		} {
			status := apierrors.APIStatus(nil)
			if !errors.As(tt.err, &status) || status.Status().Code != http.StatusInternalServerError {
				t.Errorf("%s: %v", verb, tt.err)
				continue
			}
			got := status.Status()
			if !isCorrupt || tt.reason == "" {
				want := cause
				if isCorrupt {
					want = fmt.Sprintf("object not decodable revision=%s: %s", after.GetResourceVersion(), cause)
				}
				if got.Message != want || got.Reason != "" && isCorrupt {
					t.Errorf("%s, gate %t: %s %s", verb, isCorrupt, got.Reason, got.Message)
				}
				continue
			}
			if got.Reason != tt.reason || got.Details == nil || len(got.Details.Causes) != 1 || !strings.HasSuffix(got.Details.Causes[0].Message, cause) ||
				!strings.HasPrefix(got.Details.Causes[0].Message, "StorageError: corrupt object") {
				t.Errorf("%s: %+v", verb, got)
			}
		}
	}
}

// TestConversionFaults checks that the results of a webhook are validated against its input.
func TestConversionFaults(t *testing.T) {
	hook := newConverter(t)
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, hook.paints("v1", "v1"))
	v1, v2 := paintsIn(c)
	for i := range 2 {
		if _, err := v1.Create(t.Context(), paint("v1", fmt.Sprint("p", i), "red"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	metadata := func(field string, value any) func(map[string]any) {
		return func(o map[string]any) { o["metadata"].(map[string]any)[field] = value }
	}
	for _, f := range []struct {
		spoil func(map[string]any)
		want  string
	}{
		{metadata("name", "q"), "must have the same name: p0 != q"},
		{metadata("uid", "u"), "must have the same UID"},
		{metadata("namespace", "elsewhere"), "must have the same namespace: default != elsewhere"},
		{metadata("labels", map[string]any{"a b": "c"}), "metadata.labels: Invalid value"},
		{metadata("annotations", map[string]any{"a": 1}), "metadata.annotations[a] must be a string"},
		{func(o map[string]any) { o["apiVersion"] = "art.example.com/v1" }, "invalid groupVersion (expected art.example.com/v2, received art.example.com/v1)"},
		{func(o map[string]any) { o["kind"] = "Other" }, "invalid kind (expected Paint, received Other)"},
		{func(o map[string]any) { delete(o, "metadata") }, "must have the same name"},
		{func(o map[string]any) { o["filler"] = strings.Repeat("x", 5<<20) }, "exceeded max object size of 4718592, most of it in filler"},
	} {
		hook.behave("", f.spoil)
		if err := second(v2.Get(t.Context(), "p0", metav1.GetOptions{})); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), f.want) {
			t.Errorf("get: %v, want %q", err, f.want)
		}
		if err := second(v2.List(t.Context(), metav1.ListOptions{})); !strings.Contains(storeReadCause(err), f.want) {
			t.Errorf("list: %v, want %q", err, f.want)
		}
	}
	// Small texts can be large in memory.
	empty := make([]map[string]any, 1_200_000)
	for i := range empty {
		empty[i] = map[string]any{}
	}
	hook.behave("", func(o map[string]any) { o["filler"] = empty })
	if err := second(v2.List(t.Context(), metav1.ListOptions{})); !strings.Contains(storeReadCause(err), "together need more than") {
		t.Errorf("list: %.300v", err)
	}
	// A webhook may change labels and annotations but no other metadata.
	hook.behave("", func(o map[string]any) {
		metadata("labels", map[string]any{"made": "up"})(o)
		metadata("generation", 17)(o)
	})
	u, err := v2.Get(t.Context(), "p0", metav1.GetOptions{})
	if err != nil || u.GetLabels()["made"] != "up" || u.GetGeneration() != 1 {
		t.Errorf("%v, %v", u, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestChangedDefinition checks that a kind is available to every request while its definition
// changes, and that watches end without an error.
func TestChangedDefinition(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	schema := func(columns ...any) map[string]any {
		return map[string]any{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	}
	define(t, c, definitionOf("paints", map[string]any{"group": "art.example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "paints", "kind": "Paint"}, "versions": []any{schema()}}))
	v1, _ := paintsIn(c)
	if _, err := v1.Create(t.Context(), paint("v1", "p", "red"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := v1.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var busy sync.WaitGroup
	use := func(name string, request func() error) {
		busy.Go(func() {
			for ctx.Err() == nil {
				if err := request(); err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	use("get", func() error { return second(v1.Get(ctx, "p", metav1.GetOptions{})) })
	use("list", func() error { return second(v1.List(ctx, metav1.ListOptions{})) })
	use("patch", func() error {
		return second(v1.Patch(ctx, "p", types.MergePatchType, []byte(`{"spec":{"n":"x"}}`), metav1.PatchOptions{}))
	})
	for i := range 10 {
		patch := fmt.Sprintf(`{"spec":{"names":{"shortNames":["p%d"]}}}`, i)
		if _, err := c.Resource(definitionResource).Patch(ctx, "paints.art.example.com", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for e := range w.ResultChan() { // until it ends
		if e.Type == watch.Error {
			t.Errorf("the watch ended with %v", e.Object)
		}
	}
	stop()
	busy.Wait()
}

// TestDeletedAgainAfterStorageVersion checks that the deletion of a terminating object writes it in the version that is stored
// now, once.
func TestDeletedAgainAfterStorageVersion(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	version := func(name string, isStored bool) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": isStored, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": map[string]any{name: map[string]any{"type": "string"}}}}}}}
	}
	define(t, c, definitionOf("paints", map[string]any{"group": "art.example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "paints", "kind": "Paint"}, "versions": []any{version("v1", true), version("v2", false)}}))
	v1, v2 := paintsIn(c)
	p := paint("v1", "p", "red")
	p.SetFinalizers([]string{"example.com/f"})
	p.Object["spec"] = map[string]any{"v1": "x"}
	if _, err := v1.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted := func() *unstructured.Unstructured {
		t.Helper()
		if err := v1.Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		got, err := v1.Get(t.Context(), "p", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := deleted()
	patch := []byte(`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`)
	if _, err := c.Resource(definitionResource).Patch(t.Context(), "paints.art.example.com", types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deletion writes the object again", func(context.Context) (bool, error) {
		return deleted().GetResourceVersion() != before.GetResourceVersion(), nil
	})
	after := deleted()
	if _, isKept, _ := unstructured.NestedString(after.Object, "spec", "v1"); isKept {
		t.Errorf("v2 has no field v1, got %v", after.Object["spec"])
	}
	if again := deleted(); again.GetResourceVersion() != after.GetResourceVersion() {
		t.Errorf("version %s after %s", again.GetResourceVersion(), after.GetResourceVersion())
	}
	if _, err := v2.Get(t.Context(), "p", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestConversionAfterRestart checks that a restarted server calls the webhook of an existing kind.
func TestConversionAfterRestart(t *testing.T) {
	hook, dir := newConverter(t), t.TempDir()
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			srv, _ := startWith(t, server.Options{Dir: dir})
			c := dynamic.NewForConfigOrDie(srv.RESTConfig())
			v1, v2 := paintsIn(c)
			if first {
				define(t, c, hook.paints("v1", "v1"))
				if _, err := v1.Create(t.Context(), paint("v1", "a", "red"), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if u, err := v2.Get(t.Context(), "a", metav1.GetOptions{}); err != nil || colorOf(u) != "red" {
				t.Errorf("got %v, %v", u, err)
			}
		})
	}
}
