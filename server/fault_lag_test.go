package server

import (
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab"
)

// TestLag checks that what the server follows takes effect late while a Fault says so, that what was before stays, and that all of it has
// its effect at once when the Fault ends.
func TestLag(t *testing.T) {
	s := startFaultServer(t)
	config := s.server.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "jane"}
	jane := kubernetes.NewForConfigOrDie(config)
	grant := func(resource string) {
		t.Helper()
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: resource},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"list"}}}}
		if _, err := s.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: resource},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: resource}}
		if _, err := s.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	readsSecrets := func() error {
		_, err := jane.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	readsConfigMaps := func() error {
		_, err := jane.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	grant("secrets")
	if err := readsSecrets(); err != nil {
		t.Fatal(err)
	}
	remove := s.inject(lab.Fault{Inject: lab.Lag(5 * time.Minute)})
	grant("configmaps")
	s.refuseConfigMaps("named-no")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("0")}}}
	if _, err := s.client.CoreV1().ResourceQuotas("default").Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	definitions := apiextensions.NewForConfigOrDie(s.server.RESTConfig()).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(t.Context(), widgets(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	createSecret := func(name string) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := s.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
		return err
	}
	served := func() error {
		return s.client.Discovery().RESTClient().Get().AbsPath("/apis/example.com/v1/widgets").Do(t.Context()).Error()
	}
	createNo := func(name string) error {
		_, err := s.client.CoreV1().ConfigMaps("default").Create(t.Context(), configMapNamed(name), metav1.CreateOptions{})
		return err
	}
	for range 20 { // for a while
		if err := readsSecrets(); err != nil {
			t.Fatalf("a role from before: %v", err)
		}
		if err := readsConfigMaps(); !apierrors.IsForbidden(err) {
			t.Fatalf("a role that is to lag: %v", err)
		}
		if err := served(); !apierrors.IsNotFound(err) {
			t.Fatalf("a definition that is to lag: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := createNo("no-1"); err != nil {
		t.Errorf("a policy that is to lag: %v", err)
	}
	if err := createSecret("one"); err != nil {
		t.Errorf("a quota that is to lag: %v", err)
	}
	remove()
	if err := readsConfigMaps(); err != nil {
		t.Errorf("a role after the fault: %v", err)
	}
	eventually.Succeeds(t, "the definition after the fault", served)
	eventually.True(t, "the policy after the fault", func() bool { return apierrors.IsInvalid(createNo("no-2")) })
	n := 0
	eventually.True(t, "the quota after the fault", func() bool { n++; return apierrors.IsForbidden(createSecret(fmt.Sprint("two-", n))) })
}

// TestLagOfOneResource checks that a lag passes by itself, and is that of the resources which the Fault names.
func TestLagOfOneResource(t *testing.T) {
	s := startFaultServer(t)
	const lag = 300 * time.Millisecond
	s.inject(lab.Fault{Match: lab.Match{Resources: []string{"customresourcedefinitions.apiextensions.k8s.io"}}, Inject: lab.Lag(lag)})
	s.refuseConfigMaps("named-no")
	eventually.True(t, "a policy that does not lag", func() bool {
		dry := metav1.CreateOptions{DryRun: []string{"All"}}
		_, err := s.client.CoreV1().ConfigMaps("default").Create(t.Context(), configMapNamed("no"), dry)
		return apierrors.IsInvalid(err)
	})
	definitions := apiextensions.NewForConfigOrDie(s.server.RESTConfig()).ApiextensionsV1().CustomResourceDefinitions()
	began := time.Now()
	if _, err := definitions.Create(t.Context(), widgets(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the definition", func() bool {
		d, err := definitions.Get(t.Context(), "widgets.example.com", metav1.GetOptions{})
		return err == nil && len(d.Status.Conditions) > 0
	})
	if took := time.Since(began); took < lag {
		t.Errorf("the definition was established after %v", took)
	}
	eventually.Succeeds(t, "the custom kind", func() error {
		return s.client.Discovery().RESTClient().Get().AbsPath("/apis/example.com/v1/widgets").Do(t.Context()).Error()
	})
}

// refuseConfigMaps creates a policy that refuses ConfigMaps whose names begin with "no".
func (s *faultServer) refuseConfigMaps(name string) {
	s.t.Helper()
	fail, all := admissionv1.Fail, admissionv1.AllScopes
	creates := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{"CREATE"},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}, Scope: &all}}}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.FailurePolicy = &fail
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{creates}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "!object.metadata.name.startsWith('no')"}}
	policies := s.client.AdmissionregistrationV1()
	if _, err := policies.ValidatingAdmissionPolicies().Create(s.t.Context(), policy, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = name, []admissionv1.ValidationAction{admissionv1.Deny}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(s.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// widgets returns the definition of a custom kind.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	preserves := true
	schema := &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserves}}
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.ClusterScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: schema}}}}
}
