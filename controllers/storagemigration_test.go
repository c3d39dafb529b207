package controllers_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestMigrationsOfOlderRelease checks that the controller runs where only v1beta1 is served.
func TestMigrationsOfOlderRelease(t *testing.T) {
	_, c := start(t, server.Options{Emulation: server.Emulation{Version: "1.36"},
		FeatureGates:  map[string]bool{"StorageVersionMigrator": true},
		RuntimeConfig: map[string]string{"storagemigration.k8s.io/v1beta1": "true"}})
	migrations := c.StoragemigrationV1beta1().StorageVersionMigrations()
	if _, err := migrations.Create(t.Context(), &storagemigrationv1beta1.StorageVersionMigration{ObjectMeta: metav1.ObjectMeta{Name: "m"},
		Spec: storagemigrationv1beta1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Resource: "namespaces"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "m succeeds", func(ctx context.Context) (bool, error) {
		m, err := migrations.Get(ctx, "m", metav1.GetOptions{})
		return err == nil && meta.IsStatusConditionTrue(m.Status.Conditions, "Succeeded"), err
	})
}

func createMigration(t *testing.T, c *kubernetes.Clientset, name, group, resource string) {
	t.Helper()
	m := &storagemigrationv1.StorageVersionMigration{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: group, Resource: resource}}}
	if _, err := c.StoragemigrationV1().StorageVersionMigrations().Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitMigration waits until a migration has a condition, and returns its conditions.
func awaitMigration(t *testing.T, c *kubernetes.Clientset, name string, condition storagemigrationv1.MigrationConditionType) []metav1.Condition {
	t.Helper()
	var conditions []metav1.Condition
	eventually(t, name+" "+string(condition), func(ctx context.Context) (bool, error) {
		m, err := c.StoragemigrationV1().StorageVersionMigrations().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions = m.Status.Conditions
		return meta.IsStatusConditionTrue(conditions, string(condition)), nil
	})
	return conditions
}

// widgetDefinition returns the definition of Widget with these versions, of which the last one is
// the storage version.
func widgetDefinition(t *testing.T, versions ...string) map[string]any {
	t.Helper()
	d := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: widgetsName},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"}},
	}
	for n, v := range versions {
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v, Served: true, Storage: n == len(versions)-1,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}})
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		t.Fatal(err)
	}
	delete(object, "status")
	return object
}

// applyWidgets creates or changes the definition of Widget.
func applyWidgets(t *testing.T, definitions dynamic.ResourceInterface, versions ...string) error {
	t.Helper()
	body, err := json.Marshal(widgetDefinition(t, versions...))
	if err != nil {
		t.Fatal(err)
	}
	force := true
	_, err = definitions.Patch(t.Context(), widgetsName, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "test", Force: &force})
	return err
}

// TestMigrateCustomKind migrates a kind from v1 to v2, so that v1 can be removed. The first
// migration is created before its kind.
func TestMigrateCustomKind(t *testing.T) {
	s, c := start(t, server.Options{})
	d := dynamicClient(t, s)
	definitions, widgets := d.Resource(definitionsAt), d.Resource(widgetsAt)
	createMigration(t, c, "early", "example.com", "widgets")
	if err := applyWidgets(t, definitions, "v1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a widget is created", func(ctx context.Context) (bool, error) {
		_, err := widgets.Create(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "w"}}}, metav1.CreateOptions{})
		return err == nil, err
	})
	conditions := awaitMigration(t, c, "early", storagemigrationv1.MigrationSucceeded)
	if meta.IsStatusConditionTrue(conditions, string(storagemigrationv1.MigrationRunning)) {
		t.Errorf("still running: %+v", conditions)
	}
	storedVersions := func() []string {
		got, err := definitions.Get(t.Context(), widgetsName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stored, _, _ := unstructured.NestedStringSlice(got.Object, "status", "storedVersions")
		return stored
	}
	if err := applyWidgets(t, definitions, "v1", "v2"); err != nil {
		t.Fatal(err)
	}
	if got := storedVersions(); !slices.Equal(got, []string{"v1", "v2"}) {
		t.Fatalf("stored versions %q", got)
	}
	if err := applyWidgets(t, definitions, "v2"); !apierrors.IsInvalid(err) {
		t.Fatalf("removed a stored version: %v", err)
	}
	v2 := widgetsAt
	v2.Version = "v2"
	eventually(t, "v2 is served", func(ctx context.Context) (bool, error) {
		_, err := d.Resource(v2).Get(ctx, "w", metav1.GetOptions{})
		return err == nil, err
	})
	createMigration(t, c, "to-v2", "example.com", "widgets")
	awaitMigration(t, c, "to-v2", storagemigrationv1.MigrationSucceeded)
	if got := storedVersions(); !slices.Equal(got, []string{"v2"}) {
		t.Errorf("stored versions %q", got)
	}
	got, err := definitions.Get(t.Context(), widgetsName, metav1.GetOptions{})
	if text, _ := json.Marshal(got); err != nil || !strings.Contains(string(text), `"reason":"MigrationSucceeded","status":"False","type":"StorageMigrating"`) {
		t.Errorf("definition: %v %s", err, text)
	}
	if err := applyWidgets(t, definitions, "v2"); err != nil {
		t.Error(err)
	}
	if w, err := d.Resource(v2).Get(t.Context(), "w", metav1.GetOptions{}); err != nil || len(w.GetManagedFields()) > 1 {
		t.Errorf("after the migration: %v %v", w, err)
	}
}

// TestMigrationFails checks that a migration ends with the message of a refused write.
func TestMigrationFails(t *testing.T) {
	_, c := start(t, server.Options{})
	ctx := t.Context()
	if _, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	policies := c.AdmissionregistrationV1()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "frozen"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			ResourceNames: []string{"x"}, RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{"UPDATE"},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"configmaps"}}}}}},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "x is frozen"}},
	}}
	if _, err := policies.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "frozen"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: "frozen", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}}}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the policy is enforced", func(ctx context.Context) (bool, error) {
		_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "x", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
		return apierrors.IsInvalid(err), nil
	})
	createMigration(t, c, "maps", "", "configmaps")
	conditions := awaitMigration(t, c, "maps", storagemigrationv1.MigrationFailed)
	failed := meta.FindStatusCondition(conditions, string(storagemigrationv1.MigrationFailed))
	if failed.Reason != "StorageVersionMigrationFailed" || !strings.HasPrefix(failed.Message, "migration encountered unhandled error: ") || !strings.Contains(failed.Message, "x is frozen") ||
		meta.IsStatusConditionTrue(conditions, string(storagemigrationv1.MigrationRunning)) {
		t.Errorf("conditions %+v", conditions)
	}
}
