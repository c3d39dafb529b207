package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
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

// TestConversionNeverWorked checks the answers for a version to which the webhook has converted nothing since the definition
// changed, and for one to which it has.
func TestConversionNeverWorked(t *testing.T) {
	hook := newConverter(t)
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, hook.paints("v1", "v1"))
	v1, v2 := paintsIn(c)
	for _, name := range []string{"a", "b"} {
		if _, err := v1.Create(t.Context(), paint("v1", name, "red"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	hook.behave("out of paint", nil)
	patch := []byte(`{"spec":{"names":{"shortNames":["pt"]}}}`)
	if _, err := c.Resource(definitionResource).Patch(t.Context(), "paints.art.example.com", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(srv.RESTConfig()) // client-go would repeat what is refused
	if err != nil {
		t.Fatal(err)
	}
	get := func(query string) string {
		response, err := client.Get(srv.URL + "/apis/art.example.com/v2/paints?" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(response.StatusCode, response.Header.Get("Retry-After"), " ", string(body))
	}
	const never = `4291 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"storage is (re)initializing: failed to list \u003cunspecified\u003e: failed to read one or more paints.art.example.com from the storage: `
	eventually(t, "lists of the changed definition are refused", func(context.Context) (bool, error) { return strings.HasPrefix(get(""), never), nil })
	for query, want := range map[string]string{"labelSelector=x&limit=1": never, "watch=1": never, "watch=1&resourceVersion=0": never, "limit=1": "500 "} {
		if got := get(query); !strings.HasPrefix(got, want) || !strings.Contains(got, "out of paint") {
			t.Errorf("?%s: %s", query, got)
		}
	}
	hook.behave("", func(o map[string]any) {
		if metadata := o["metadata"].(map[string]any); metadata["name"] == "b" {
			metadata["uid"] = "u"
		}
	})
	err = second(v2.List(t.Context(), metav1.ListOptions{Limit: 5}))
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || len(status.Status().Details.Causes) != 1 || !strings.Contains(storeReadCause(err), "must have the same UID") {
		t.Errorf("one of two objects cannot be converted: %v", err)
	}
	hook.behave("", nil)
	if list, err := v2.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 2 {
		t.Fatal(list, err)
	}
	hook.behave("out of paint again", nil)
	watcher, err := v2.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"}) // the kept objects are sent
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	for range 2 {
		if e := <-watcher.ResultChan(); e.Type != watch.Added {
			t.Fatal(e)
		}
	}
	if _, err := v1.Create(t.Context(), paint("v1", "c", "red"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := second(v2.List(t.Context(), metav1.ListOptions{})); !strings.Contains(storeReadCause(err), "out of paint again") {
		t.Errorf("a list that cannot be converted any more: %v", err)
	}
	late, err := v2.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Stop()
	if e := <-late.ResultChan(); e.Type != watch.Error || !apierrors.IsTimeout(apierrors.FromObject(e.Object)) {
		t.Errorf("a watch of the newest state: %v", e)
	}
	hook.behave("", nil)
	if e := <-watcher.ResultChan(); e.Type != watch.Added || e.Object.(*unstructured.Unstructured).GetName() != "c" {
		t.Errorf("the watch goes on with %v", e)
	}
}

// TestUnresolvedDefinition checks the answers for a definition that has its names, and a CA of its webhook that is none.
func TestUnresolvedDefinition(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	d := newConverter(t).paints("v1", "v1")
	if err := unstructured.SetNestedField(d.Object, "bm8gY2VydGlmaWNhdGU=", "spec", "conversion", "webhook", "clientConfig", "caBundle"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resource(definitionResource).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	v1, v2 := paintsIn(c)
	eventually(t, "requests fail", func(ctx context.Context) (bool, error) {
		err := second(v1.List(ctx, metav1.ListOptions{}))
		return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "error resolving resource"), nil
	})
	if err := second(v2.Create(t.Context(), paint("v2", "a", "red"), metav1.CreateOptions{})); !apierrors.IsInternalError(err) {
		t.Errorf("a create: %v", err)
	}
	unknown := c.Resource(schema.GroupVersionResource{Group: "art.example.com", Version: "v9", Resource: "paints"})
	if err := second(unknown.List(t.Context(), metav1.ListOptions{})); !apierrors.IsNotFound(err) {
		t.Errorf("a version that is not served: %v", err)
	}
	across := c.Resource(schema.GroupVersionResource{Group: "art.example.com", Version: "v1", Resource: "paints"})
	if err := second(across.Get(t.Context(), "a", metav1.GetOptions{})); !apierrors.IsNotFound(err) {
		t.Errorf("a path without a namespace: %v", err)
	}
	mended := []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	if _, err := c.Resource(definitionResource).Patch(t.Context(), d.GetName(), types.MergePatchType, mended, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the mended definition is served", func(ctx context.Context) (bool, error) {
		return second(v2.List(ctx, metav1.ListOptions{})) == nil, nil
	})
}
