package server

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// TestMalformedStoredMetadata checks that a custom object whose stored metadata is
// malformed can be read, listed, updated and deleted.
func TestMalformedStoredMetadata(t *testing.T) {
	h := startHistory(t)
	ctx := t.Context()
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "things", "kind": "Thing"}, "versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}}}}},
	}}
	if _, err := h.definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.s.store.Client().Put(ctx, "/registry/example.com/things/a", `{"apiVersion":"example.com/v1","kind":"Thing","n":1,"metadata":{"name":"a","uid":"u",
		"labels":{"x":1},"annotations":{"b":"c"},"finalizers":"f","creationTimestamp":"yesterday","more":true}}`); err != nil {
		t.Fatal(err)
	}
	c, err := dynamic.NewForConfigAndClient(h.s.RESTConfig(), h.http)
	if err != nil {
		t.Fatal(err)
	}
	things := c.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"})
	var got *unstructured.Unstructured
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if got, err = things.Get(ctx, "a", metav1.GetOptions{}); err == nil || !apierrors.IsNotFound(err) || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	version := got.GetResourceVersion()
	if text, err := got.MarshalJSON(); err != nil || string(text) !=
		`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"annotations":{"b":"c"},"generation":1,"name":"a","resourceVersion":"`+version+`","uid":"u"},"n":1}`+"\n" {
		t.Errorf("got %s, %v", text, err)
	}
	list, err := things.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetLabels() != nil {
		t.Errorf("list is %v, %v", list, err)
	}
	if err := unstructured.SetNestedField(got.Object, int64(2), "n"); err != nil {
		t.Fatal(err)
	}
	if got, err = things.Update(ctx, got, metav1.UpdateOptions{}); err != nil || got.GetGeneration() != 2 {
		t.Errorf("updated to %v, %v", got, err)
	}
	if err := things.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := things.Get(ctx, "a", metav1.GetOptions{}); apierrors.ReasonForError(err) != metav1.StatusReasonNotFound {
		t.Errorf("after the deletion: %v", err)
	}
}

// TestBrokenStoredDefinitions checks that definitions which could not be created, but are in etcd,
// do not keep a server from starting, or affect others, and that the log names them.
func TestBrokenStoredDefinitions(t *testing.T) {
	dir := t.TempDir()
	var log lockedBuffer
	o := Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	const (
		object = `{"apiVersion":"%[1]s.example.com/v1","kind":"Thing","metadata":{"name":"a","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"n":1}}`
		names  = `{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"}`
		stored = `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"things.%[1]s.example.com","uid":"%[1]s","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},
			"spec":{"group":"%[1]s.example.com","scope":"Cluster","names":` + names + `,"versions":[{"name":"v1","served":true,"storage":STORAGE,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"list":LIST}}}}],"conversion":CONVERSION},
			"status":{"acceptedNames":` + names + `,"storedVersions":["v1"],"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}]}}`
	)
	for name, changes := range map[string][]string{
		"good":       {"STORAGE", "true", "LIST", `{"type":"array","items":{"type":"string"}}`, "CONVERSION", `{"strategy":"None"}`},
		"webhook":    {"STORAGE", "true", "LIST", `{"type":"string"}`, "CONVERSION", `{"strategy":"Webhook"}`},
		"notstored":  {"STORAGE", "false", "LIST", `{"type":"string"}`, "CONVERSION", `{"strategy":"None"}`},
		"listtype":   {"STORAGE", "true", "LIST", `{"type":"array","x-kubernetes-list-type":"bag","items":{"type":"string"}}`, "CONVERSION", `{"strategy":"None"}`},
		"unreadable": {"STORAGE", "5", "LIST", `{"type":"string"}`, "CONVERSION", `{"strategy":"None"}`},
	} {
		for key, value := range map[string]string{
			"apiextensions.k8s.io/customresourcedefinitions/things." + name + ".example.com": strings.NewReplacer(changes...).Replace(fmt.Sprintf(stored, name)),
			name + ".example.com/things/a": fmt.Sprintf(object, name),
		} {
			if _, err := s.store.Client().Put(t.Context(), "/registry/"+key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	halt(t, s)
	s = run(t, o)
	h, err := rest.HTTPClientFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	c, err := dynamic.NewForConfigAndClient(s.RESTConfig(), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "webhook", "listtype"} {
		things := c.Resource(schema.GroupVersionResource{Group: name + ".example.com", Version: "v1", Resource: "things"})
		if list, err := things.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	want := []string{
		`installing custom kind failed" definition=things.notstored.example.com error="things.notstored.example.com: no version is stored"`,
		`CustomResourceDefinition has an invalid schema" definition=things.listtype.example.com`,
		"stored object cannot be decoded\" key=/registry/apiextensions.k8s.io/customresourcedefinitions/things.unreadable.example.com",
	}
	eventually.Succeeds(t, "the log has the faults", func() error {
		for _, line := range want {
			if !strings.Contains(log.String(), line) {
				return fmt.Errorf("no %q in %s", line, log.String())
			}
		}
		return nil
	})
	if strings.Contains(log.String(), "panic") {
		t.Error(log.String())
	}
}
