package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/miniapiserver/miniapiserver/server"
)

var ownedResource = schema.GroupVersionResource{Group: "art.example.com", Version: "v1", Resource: "owneds"}

// TestManagedOfCustom checks that managedFields of custom objects are visible to readers of all
// forms, printer columns, patches and policies.
func TestManagedOfCustom(t *testing.T) {
	srv, kube := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	text := map[string]any{"type": "string"}
	column := func(name, path string) any { return map[string]any{"name": name, "type": "string", "jsonPath": path} }
	define(t, c, definitionOf("owneds", map[string]any{"group": "art.example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "owneds", "kind": "Owned"}, "versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": map[string]any{"a": text, "b": text}}}}},
			"additionalPrinterColumns": []any{column("first", ".metadata.managedFields[0].manager"), column("any", "..manager"), column("a", ".spec.a")}}}}))
	owneds := c.Resource(ownedResource).Namespace("default")
	patch := func(kind types.PatchType, body, manager string) (*unstructured.Unstructured, error) {
		return owneds.Patch(t.Context(), "o", kind, []byte(body), metav1.PatchOptions{FieldManager: manager})
	}
	watch, err := owneds.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := patch(types.ApplyPatchType, `{"apiVersion":"art.example.com/v1","kind":"Owned","metadata":{"name":"o"},"spec":{"a":"<x>"}}`, "one"); err != nil {
		t.Fatal(err)
	}
	o, err := patch(types.MergePatchType, `{"spec":{"b":"y"}}`, "two")
	if err != nil {
		t.Fatal(err)
	}
	want := o.GetManagedFields()
	if len(want) != 2 || want[0].Manager != "one" || want[1].Manager != "two" || string(want[1].FieldsV1.Raw) != `{"f:spec":{"f:b":{}}}` {
		t.Fatalf("%v", want)
	}
	for range 2 {
		event := <-watch.ResultChan()
		if u, ok := event.Object.(*unstructured.Unstructured); !ok || len(u.GetManagedFields()) == 0 {
			t.Errorf("%v", event)
		}
	}
	list, err := owneds.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || !reflect.DeepEqual(list.Items[0].Object, o.Object) {
		t.Errorf("the list has %v, %v", list, err)
	}
	partial, err := metadata.NewForConfigOrDie(srv.RESTConfig()).Resource(ownedResource).Namespace("default").Get(t.Context(), "o", metav1.GetOptions{})
	if err != nil || !reflect.DeepEqual(partial.ManagedFields, want) {
		t.Errorf("metadata alone has %v, %v", partial, err)
	}
	table, err := kube.CoreV1().RESTClient().Get().AbsPath("/apis/art.example.com/v1/namespaces/default/owneds").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	var rows metav1.Table
	if err == nil {
		err = json.Unmarshal(table, &rows)
	}
	if err != nil || len(rows.Rows) != 1 || fmt.Sprint(rows.Rows[0].Cells) != "[o one one <x>]" {
		t.Errorf("%s, %v", table, err)
	}
	managedInPatches(t, patch, want)
	rule := admissionv1.Rule{APIGroups: []string{"art.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"owneds"}}
	_, err = kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update}, Rule: rule}}}},
			Validations: []admissionv1.Validation{{Expression: "!has(object.metadata.managedFields) || !object.metadata.managedFields.exists(m, m.manager == 'evil')", Message: "no evil"}},
		}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "p", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	eventually(t, "policy in force", func(context.Context) (bool, error) {
		n++
		_, err := patch(types.MergePatchType, fmt.Sprintf(`{"spec":{"b":"%d"}}`, n), "evil")
		return err != nil && strings.Contains(err.Error(), "no evil"), nil
	})
	managedInUpdates(t, owneds)
}

// managedInPatches patches managedFields.
func managedInPatches(t *testing.T, patch func(kind types.PatchType, body, manager string) (*unstructured.Unstructured, error), want []metav1.ManagedFieldsEntry) {
	t.Helper()
	const ask = `[{"op":"test","path":"/metadata/managedFields/1/fieldsV1","value":{"f:spec":{"f:%s":{}}}}]`
	if o, err := patch(types.JSONPatchType, fmt.Sprintf(ask, "b"), "two"); err != nil || !reflect.DeepEqual(o.GetManagedFields(), want) {
		t.Errorf("%v, %v", o, err)
	}
	if _, err := patch(types.JSONPatchType, fmt.Sprintf(ask, "a"), "two"); err == nil {
		t.Error("two manages a")
	}
	if _, err := patch(types.MergePatchType, `{"metadata":{"managedFields":[{"manager":"x","more":1}]}}`, "two"); err != nil {
		t.Error(err) // a warning
	}
	if _, err := patch(types.ApplyPatchType, `{"apiVersion":"art.example.com/v1","kind":"Owned","metadata":{"name":"o","managedFields":[{"manager":"x"}]}}`, "one"); !apierrors.IsBadRequest(err) {
		t.Error(err)
	}
}

// managedInUpdates sends managedFields unchanged and then resets them.
func managedInUpdates(t *testing.T, owneds dynamic.ResourceInterface) {
	t.Helper()
	o, err := owneds.Get(t.Context(), "o", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same, err := owneds.Update(t.Context(), o, metav1.UpdateOptions{FieldManager: "other", FieldValidation: "Strict"})
	if err != nil || !reflect.DeepEqual(same.GetManagedFields(), o.GetManagedFields()) {
		t.Errorf("%v, %v", same, err)
	}
	if err := unstructured.SetNestedSlice(o.Object, []any{map[string]any{}}, "metadata", "managedFields"); err != nil {
		t.Fatal(err)
	}
	if reset, err := owneds.Update(t.Context(), o, metav1.UpdateOptions{FieldManager: "other"}); err != nil || len(reset.GetManagedFields()) != 0 {
		t.Errorf("%v, %v", reset, err)
	}
}
