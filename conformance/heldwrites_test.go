package conformance

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// holdWrites registers a validating webhook that calls held for requests of an operation on
// resources, before it allows them, and waits until the webhook is in effect.
func holdWrites(t *testing.T, c kubernetes.Interface, operation admissionregistrationv1.OperationType, group string, resources []string, held func(*admissionv1.AdmissionRequest)) {
	t.Helper()
	called := make(chan struct{})
	inEffect := sync.OnceFunc(func() { close(called) })
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		inEffect()
		if dryRun := review.Request.DryRun; dryRun == nil || !*dryRun {
			held(review.Request)
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(hook.Close)
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	rule := func(operation admissionregistrationv1.OperationType, group string, resources ...string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{operation},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources}}
	}
	_, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hold"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "hold.example.com", FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds: new(int32(20)),
			ClientConfig:   admissionregistrationv1.WebhookClientConfig{URL: &hook.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})},
			Rules:          []admissionregistrationv1.RuleWithOperations{rule(operation, group, resources...), rule(admissionregistrationv1.Create, "", "limitranges")}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook is in effect", func(ctx context.Context) (bool, error) {
		probe := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		_, err := c.CoreV1().LimitRanges("default").Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		select {
		case <-called:
			return true, err
		default:
			return false, err
		}
	})
}

// holdOne is holdWrites for the creation of the object "late": it returns when the creation is held,
// until release is called.
type heldCreation struct{ arrived, released chan struct{} }

func newHeldCreation() heldCreation { return heldCreation{make(chan struct{}), make(chan struct{})} }

func (h heldCreation) hold(r *admissionv1.AdmissionRequest) {
	if r.Name == "late" {
		close(h.arrived)
		<-h.released
	}
}

// await returns when the creation is held.
func (h heldCreation) await(t *testing.T) {
	t.Helper()
	select {
	case <-h.arrived:
	case <-time.After(20 * time.Second):
		t.Fatal("the creation does not reach the webhook")
	}
}

// TestLateCreationInNamespace holds a creation while its namespace ends, is replaced, or changes.
func TestLateCreationInNamespace(t *testing.T) {
	const name = "scope"
	makeNamespace := func(t *testing.T, c kubernetes.Interface) {
		t.Helper()
		if _, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, c kubernetes.Interface) {
		t.Helper()
		if err := c.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	removed := func(t *testing.T, c kubernetes.Interface) {
		t.Helper()
		remove(t, c)
		eventually(t, "the namespace ends", func(ctx context.Context) (bool, error) {
			_, err := c.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			return gone(err)
		})
	}
	replaced := func(t *testing.T, c kubernetes.Interface) {
		t.Helper()
		removed(t, c)
		makeNamespace(t, c)
	}
	post := func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().ConfigMaps(name).Create(ctx, configMap("late"), metav1.CreateOptions{})
		return err
	}
	apply := func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().ConfigMaps(name).Apply(ctx, corev1apply.ConfigMap("late", name), metav1.ApplyOptions{FieldManager: "m"})
		return err
	}
	for what, tt := range map[string]struct {
		create    func(context.Context, kubernetes.Interface) error
		meanwhile func(*testing.T, kubernetes.Interface)
		want      string
	}{
		"gone":                {post, removed, `namespaces "scope" not found`},
		"gone, apply":         {apply, removed, `namespaces "scope" not found`},
		"replaced":            {post, replaced, `namespaces "scope" not found`},
		"replaced, apply":     {apply, replaced, `namespaces "scope" not found`},
		"terminating":         {post, terminateHeld(name, remove), `configmaps "late" is forbidden: unable to create new content in namespace scope because it is being terminated`},
		"relabelled":          {post, labelNamespace(name), ""},
		"relabelled, applied": {apply, labelNamespace(name), ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, c := startWith(t, server.Options{})
			makeNamespace(t, c)
			h := newHeldCreation()
			holdWrites(t, c, admissionregistrationv1.Create, "", []string{"configmaps"}, h.hold)
			result := make(chan error, 1)
			go func() { result <- tt.create(t.Context(), c) }()
			h.await(t)
			tt.meanwhile(t, c)
			close(h.released)
			got := ""
			if err := <-result; err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("the answer is %q, want %q", got, tt.want)
			}
			_, err := c.CoreV1().ConfigMaps(name).Get(t.Context(), "late", metav1.GetOptions{})
			if absent := apierrors.IsNotFound(err); absent != (tt.want != "") {
				t.Errorf("the object is there: %t, %v", !absent, err)
			}
		})
	}
}

// terminateHeld returns a function that deletes a namespace which a finalizer of an object keeps.
func terminateHeld(name string, remove func(*testing.T, kubernetes.Interface)) func(*testing.T, kubernetes.Interface) {
	return func(t *testing.T, c kubernetes.Interface) {
		t.Helper()
		held := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}
		if _, err := c.CoreV1().Secrets(name).Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		remove(t, c)
	}
}

// labelNamespace returns a function that changes a namespace.
func labelNamespace(name string) func(*testing.T, kubernetes.Interface) {
	return func(t *testing.T, c kubernetes.Interface) {
		t.Helper()
		if _, err := c.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	lateDefinitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	lateResource    = schema.GroupVersionResource{Group: "late.example.com", Version: "v1", Resource: "things"}
)

// defineLate creates the definition of lateResource and waits until it is established.
func defineLate(t *testing.T, d dynamic.Interface) {
	t.Helper()
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.late.example.com"},
		"spec": map[string]any{"group": lateResource.Group, "scope": "Cluster", "names": map[string]any{"kind": "Thing", "plural": "things"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}}}}}
	if _, err := d.Resource(lateDefinitions).Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the kind is served", func(ctx context.Context) (bool, error) {
		_, err := d.Resource(lateResource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// TestLateCustomObject holds the creation of a custom object while its definition is replaced. The
// next definition of the name must not find the object.
func TestLateCustomObject(t *testing.T) {
	s, c := startWith(t, server.Options{})
	d := dynamic.NewForConfigOrDie(s.RESTConfig())
	defineLate(t, d)
	h := newHeldCreation()
	holdWrites(t, c, admissionregistrationv1.Create, lateResource.Group, []string{"things"}, h.hold)
	result := make(chan error, 1)
	go func() {
		_, err := d.Resource(lateResource).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "late.example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "late"}}}, metav1.CreateOptions{})
		result <- err
	}()
	h.await(t)
	if err := d.Resource(lateDefinitions).Delete(t.Context(), "things.late.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the definition ends", func(ctx context.Context) (bool, error) {
		_, err := d.Resource(lateDefinitions).Get(ctx, "things.late.example.com", metav1.GetOptions{})
		return gone(err)
	})
	defineLate(t, d)
	close(h.released)
	if err := <-result; !apierrors.IsForbidden(err) {
		t.Errorf("the answer to the late creation is %v", err)
	}
	list, err := d.Resource(lateResource).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("the next definition has %d objects, %v", len(list.Items), err)
	}
}

// TestDeletionsDecideAnew changes objects while deletions by controllers are in admission, so that
// the reason of the deletion is gone. The objects must stay.
func TestDeletionsDecideAnew(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx := t.Context()
	alive, err := c.CoreV1().ConfigMaps("default").Create(ctx, configMap("alive"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	refs, err := json.Marshal([]metav1.OwnerReference{ownedBy(alive, false)})
	if err != nil {
		t.Fatal(err)
	}
	patches := map[string][]byte{
		"adopted":                []byte(`{"metadata":{"ownerReferences":` + string(refs) + `}}`),
		"released":               []byte(`{"metadata":{"ownerReferences":null}}`),
		"token":                  []byte(`{"metadata":{"annotations":{"kubernetes.io/service-account.name":"default"}}}`),
		"bootstrap-token-abcdef": []byte(`{"stringData":{"expiration":"2100-01-01T00:00:00Z"}}`),
		"request":                []byte(`{"status":{"conditions":[{"type":"Denied","status":"True","lastUpdateTime":"2100-01-01T00:00:00Z"}]}}`),
	}
	patch := func(namespace, name string) error {
		var err error
		switch data := patches[name]; name {
		case "request":
			_, err = c.CertificatesV1().CertificateSigningRequests().Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, "approval")
		case "adopted", "released":
			_, err = c.CoreV1().ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
		default:
			_, err = c.CoreV1().Secrets(namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
		}
		return err
	}
	var mu sync.Mutex
	changed := map[string]error{}
	changedAll := make(chan struct{})
	change := func(r *admissionv1.AdmissionRequest) {
		mu.Lock()
		defer mu.Unlock()
		if _, done := changed[r.Name]; done || patches[r.Name] == nil {
			return
		}
		if changed[r.Name] = patch(r.Namespace, r.Name); len(changed) == len(patches) {
			close(changedAll)
		}
	}
	holdWrites(t, c, admissionregistrationv1.Delete, "*", []string{"configmaps", "secrets", "certificatesigningrequests"}, change)
	createDoomed(t, c, "", "abcdef")
	select {
	case <-changedAll:
	case <-time.After(20 * time.Second):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("only these were deleted: %v", changed)
	}
	for name, err := range changed {
		if err != nil {
			t.Errorf("change of %s: %v", name, err)
		}
	}
	// Each controller has ended its deletion when it has deleted what came later.
	createDoomed(t, c, "-last", "zzzzzz")
	awaitDoomed(t, c, "-last", "zzzzzz")
	for _, name := range []string{"adopted", "released"} {
		if _, err := c.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.CoreV1().Secrets("default").Get(ctx, "token", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.CoreV1().Secrets("kube-system").Get(ctx, "bootstrap-token-abcdef", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.CertificatesV1().CertificateSigningRequests().Get(ctx, "request", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// createDoomed creates objects that controllers delete at once. Their names end in suffix, and the
// bootstrap token has the ID.
func createDoomed(t *testing.T, c kubernetes.Interface, suffix, id string) {
	t.Helper()
	ctx := t.Context()
	absent := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "absent", UID: "absent"}
	for _, name := range []string{"adopted", "released"} {
		if _, err := c.CoreV1().ConfigMaps("default").Create(ctx, configMap(name+suffix, absent), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for namespace, secret := range map[string]*corev1.Secret{
		"default": {ObjectMeta: metav1.ObjectMeta{Name: "token" + suffix, Annotations: map[string]string{corev1.ServiceAccountNameKey: "absent"}}, Type: corev1.SecretTypeServiceAccountToken},
		"kube-system": {ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: "bootstrap.kubernetes.io/token",
			StringData: map[string]string{"token-id": id, "token-secret": "0123456789abcdef", "expiration": "2000-01-01T00:00:00Z"}},
	} {
		if _, err := c.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "request" + suffix}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		SignerName: "example.com/signer", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}
	if csr, err = c.CertificatesV1().CertificateSigningRequests().Create(ctx, csr, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue,
		LastUpdateTime: metav1.NewTime(time.Now().Add(-2 * time.Hour))}}
	if _, err := c.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, csr.Name, csr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitDoomed waits until the objects of createDoomed are deleted.
func awaitDoomed(t *testing.T, c kubernetes.Interface, suffix, id string) {
	t.Helper()
	eventually(t, "the controllers delete what came later", func(ctx context.Context) (bool, error) {
		var errs []error
		for _, name := range []string{"adopted", "released"} {
			_, err := c.CoreV1().ConfigMaps("default").Get(ctx, name+suffix, metav1.GetOptions{})
			errs = append(errs, err)
		}
		_, err := c.CoreV1().Secrets("default").Get(ctx, "token"+suffix, metav1.GetOptions{})
		errs = append(errs, err)
		_, err = c.CoreV1().Secrets("kube-system").Get(ctx, "bootstrap-token-"+id, metav1.GetOptions{})
		errs = append(errs, err)
		_, err = c.CertificatesV1().CertificateSigningRequests().Get(ctx, "request"+suffix, metav1.GetOptions{})
		for _, err := range append(errs, err) {
			if absent, err := gone(err); !absent {
				return false, err
			}
		}
		return true, nil
	})
}
