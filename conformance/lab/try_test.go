package lab

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/conformance/internal/hook"
	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/try"
	"github.com/miniapiserver/miniapiserver/storage"
)

// bundle are objects that need each other: a namespace with a quota, a webhook for what is in it, a definition and its objects.
func bundle(t *testing.T, h *hook.Server) []*unstructured.Unstructured {
	t.Helper()
	refuse := hook.Spec{If: "CREATE", Response: map[string]any{"allowed": false, "status": map[string]any{"message": "not these", "code": 403}}}
	warn := hook.Spec{Response: map[string]any{"allowed": true, "warnings": []any{"mind the gap"}}}
	webhook := func(name, label string, spec hook.Spec) map[string]any {
		return map[string]any{"name": name, "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "objectSelector": map[string]any{"matchLabels": map[string]any{"check": label}},
			"clientConfig": map[string]any{"url": h.URL + spec.Path(), "caBundle": h.CA},
			"rules":        []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"*"}, "resources": []any{"configmaps"}}}}
	}
	object := func(apiVersion, kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: content}
		u.SetAPIVersion(apiVersion)
		u.SetKind(kind)
		u.SetNamespace(namespace)
		u.SetName(name)
		return u
	}
	labelled := func(label string) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{"check": label}}}
	}
	return []*unstructured.Unstructured{
		object("v1", "Namespace", "", "shop", map[string]any{}),
		object("v1", "ResourceQuota", "shop", "few", map[string]any{"spec": map[string]any{"hard": map[string]any{"count/services": "1"}}}),
		object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gadgets.example.com", map[string]any{"spec": map[string]any{"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{
					"spec": map[string]any{"type": "object", "default": map[string]any{}, "properties": map[string]any{"size": map[string]any{"type": "integer", "default": int64(3)}}}}}}}}}}),
		object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "checks", map[string]any{"webhooks": []any{
			webhook("refuse.example.com", "refuse", refuse), webhook("warn.example.com", "warn", warn)}}),
		object("example.com/v1", "Gadget", "shop", "g", map[string]any{}),
		object("v1", "ConfigMap", "shop", "warned", labelled("warn")),
		object("v1", "ConfigMap", "shop", "refused", labelled("refuse")),
		object("v1", "Service", "shop", "first", map[string]any{"spec": map[string]any{"clusterIP": "None"}}),
		object("v1", "Service", "shop", "second", map[string]any{"spec": map[string]any{"clusterIP": "None"}}),
	}
}

// resourcesOfBundle are the resources of the kinds in a bundle.
var resourcesOfBundle = map[string]schema.GroupVersionResource{
	"Namespace": corev1.SchemeGroupVersion.WithResource("namespaces"), "ResourceQuota": corev1.SchemeGroupVersion.WithResource("resourcequotas"),
	"ConfigMap": corev1.SchemeGroupVersion.WithResource("configmaps"), "Service": corev1.SchemeGroupVersion.WithResource("services"),
	"CustomResourceDefinition":       apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"),
	"ValidatingWebhookConfiguration": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	"Gadget":                         {Group: "example.com", Version: "v1", Resource: "gadgets"},
}

// applyBundle does what a program for bundles does: it creates the objects in their order, waits for the kind, changes an object that
// exists and deletes another one. A refused request is no error.
func applyBundle(t *testing.T, objects []*unstructured.Unstructured) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		for _, object := range objects {
			resource := client.Resource(resourcesOfBundle[object.GetKind()]).Namespace(object.GetNamespace())
			eventually.True(t, "the kind "+object.GetKind(), func() bool {
				_, err = resource.Create(ctx, object, metav1.CreateOptions{})
				return !apierrors.IsNotFound(err)
			})
			if err != nil && !apierrors.IsForbidden(err) {
				return err
			}
		}
		maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
		patch := []byte(`{"data":{"a":"after"}}`)
		if _, err := maps.Patch(ctx, "changed", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			return err
		}
		return maps.Delete(ctx, "deleted", metav1.DeleteOptions{})
	}
}

// contentOf returns what a Diff says of each object but for what is different each time: uids and times.
func contentOf(t *testing.T, d *try.Diff) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, o := range d.Objects {
		for _, object := range []map[string]any{o.Before, o.After} {
			removeEachTime(object)
		}
		out[o.Key()] = map[string]any{"action": o.Action, "before": o.Before, "after": o.After, "byController": o.ByController}
	}
	return out
}

// removeEachTime removes the fields whose values differ each time.
func removeEachTime(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "time", "lastTransitionTime"} {
			delete(value, field)
		}
		for _, v := range value {
			removeEachTime(v)
		}
	case []any:
		for _, v := range value {
			removeEachTime(v)
		}
	}
}

// TestTry tries a bundle, then applies it: the difference is the same, and the server is the same after the try as before.
func TestTry(t *testing.T) {
	w := startLab(t)
	s := w.s
	for _, name := range []string{"changed", "deleted"} {
		w.do("POST /api/v1/namespaces/default/configmaps", `{"metadata":{"name":"`+name+`"}}`)
	}
	objects := bundle(t, w.hook)
	if _, err := try.Begin(t.Context(), s.RESTConfig()); err != nil { // which waits until the controllers of a new server have done their work
		t.Fatal(err)
	}
	before, err := s.Lab().Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tried, err := s.Try(t.Context(), applyBundle(t, objects))
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Lab().Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := slices.DeleteFunc(before.Differences(after, nil), isOfServer); len(d) > 0 {
		t.Errorf("the try changed the server: %v", d)
	}
	done, err := try.Run(t.Context(), s.RESTConfig(), func(ctx context.Context) error { return applyBundle(t, objects)(ctx, s.RESTConfig()) })
	if err != nil {
		t.Fatal(err)
	}
	want, got := contentOf(t, done), contentOf(t, tried)
	for key := range want {
		if !reflect.DeepEqual(got[key], want[key]) {
			t.Errorf("%s: the try found\n%s\nand really\n%s", key, indented(got[key]), indented(want[key]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("the try found %d objects, and really %d differ", len(got), len(want))
	}
	checkTried(t, tried)
}

// isOfServer reports whether an object is written by the server itself, tried or not.
func isOfServer(d storage.Difference) bool { return d.Resource().Resource == "leases" }

func indented(v any) string {
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// checkTried checks what the try of the bundle tells.
func checkTried(t *testing.T, d *try.Diff) {
	t.Helper()
	actions := map[string]string{}
	for _, o := range d.Objects {
		if !o.ByController {
			actions[o.Key()] = o.Action
		}
	}
	want := map[string]string{"namespaces/shop": try.Created, "resourcequotas/shop/few": try.Created, "configmaps/shop/warned": try.Created, "services/shop/first": try.Created,
		"customresourcedefinitions.apiextensions.k8s.io/gadgets.example.com": try.Created, "gadgets.example.com/shop/g": try.Created,
		"validatingwebhookconfigurations.admissionregistration.k8s.io/checks": try.Created, "configmaps/default/changed": try.Changed, "configmaps/default/deleted": try.Deleted}
	if !reflect.DeepEqual(actions, want) {
		t.Errorf("the objects are %v, want %v", actions, want)
	}
	refused := map[string]string{}
	for _, r := range d.Refusals {
		if r.Verb == "create" && r.Code == 403 {
			refused[r.Object] = r.Why
		}
	}
	if len(refused) != 2 || !strings.Contains(refused["configmaps/shop/refused"], "not these") || !strings.Contains(refused["services/shop/second"], "exceeded quota") {
		t.Errorf("the refusals are %v of %v", refused, d.Refusals)
	}
	if want := []try.Webhook{{Name: "checks/refuse.example.com", Calls: 1, Refused: 1}, {Name: "checks/warn.example.com", Calls: 1}}; !reflect.DeepEqual(d.Webhooks, want) {
		t.Errorf("the webhooks are %v", d.Webhooks)
	}
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "mind the gap") || len(d.Unread) > 0 {
		t.Errorf("the warnings are %q, and unread %q", d.Warnings, d.Unread)
	}
}
