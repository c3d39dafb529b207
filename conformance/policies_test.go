package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestPolicies checks that creation, change and deletion of a policy apply to the next write, that
// type errors are in its status, and its metrics.
func TestPolicies(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx := t.Context()
	policies, bindings := c.AdmissionregistrationV1().ValidatingAdmissionPolicies(), c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}}}}}},
		Validations: []admissionv1.Validation{{Expression: "object.metadata.name != 'bad' || object.metadata.nosuch == 1", Message: "bad"}},
	}}
	if _, err := policies.Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "p", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	if _, err := bindings.Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create := func(name string) error {
		_, err := c.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	// within returns the time until a write has the given result.
	within := func(what, name string, refused bool) {
		t.Helper()
		begin := time.Now()
		eventually(t, what, func(context.Context) (bool, error) { return (create(name) != nil) == refused, nil })
		t.Logf("%s: %v", what, time.Since(begin))
	}
	within("policy in force", "bad", true)
	valid := policy.DeepCopy()
	valid.Name, valid.Spec.Validations = "valid", []admissionv1.Validation{{Expression: "object.metadata.name != 'bad'"}}
	if _, err := policies.Create(ctx, valid, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status of a policy without type errors", func(ctx context.Context) (bool, error) {
		p, err := policies.Get(ctx, "valid", metav1.GetOptions{})
		return err == nil && p.Status.ObservedGeneration == 1 && p.Status.TypeChecking != nil && len(p.Status.TypeChecking.ExpressionWarnings) == 0, err
	})
	if err := create("good"); err != nil {
		t.Error(err)
	}
	if err := create("bad"); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "resulted in error: no such key: nosuch") {
		t.Error(err)
	}
	eventually(t, "warnings", func(ctx context.Context) (bool, error) {
		p, err := policies.Get(ctx, "p", metav1.GetOptions{})
		return err == nil && p.Status.TypeChecking != nil && len(p.Status.TypeChecking.ExpressionWarnings) == 1 &&
			p.Status.ObservedGeneration == p.Generation && strings.Contains(p.Status.TypeChecking.ExpressionWarnings[0].Warning, "undefined field 'nosuch'"), err
	})
	patch := []byte(`{"spec":{"validations":[{"expression":"object.metadata.name != 'good'"}]}}`)
	if _, err := policies.Patch(ctx, "p", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	within("changed policy in force", "good", true)
	if err := create("bad"); err != nil {
		t.Error(err)
	}
	// Like in kube-apiserver, an apply that removes the only content of an object leaves null.
	eventually(t, "no warnings", func(ctx context.Context) (bool, error) {
		p, err := policies.Get(ctx, "p", metav1.GetOptions{})
		return err == nil && p.Status.TypeChecking == nil && p.Status.ObservedGeneration == 2, err
	})
	metrics, err := c.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil || !strings.Contains(string(metrics), `apiserver_validating_admission_policy_check_total{enforcement_action="deny",error_type="invalid_error",policy="p",policy_binding="p"}`) {
		t.Errorf("metrics: %v", err)
	}
	if err := bindings.Delete(ctx, "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	within("no policy in force", "good", false)
}
