package faults

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// endRounds is the number of rounds of each of these tests: a thousand in make faults.
func endRounds() int { return 100 * factor() }

// endSetups are the ways in which a scope and its objects are stored.
func endSetups() map[string]func(*testing.T) []*rest.Config {
	start := func(t *testing.T, o server.Options) *rest.Config {
		t.Helper()
		s, _ := startServer(t, o)
		config := s.RESTConfig()
		config.QPS = -1
		return config
	}
	return map[string]func(*testing.T) []*rest.Config{
		"embedded": func(t *testing.T) []*rest.Config { return []*rest.Config{start(t, server.Options{})} },
		"two servers": func(t *testing.T) []*rest.Config {
			o := server.Options{Etcd: server.Etcd{Servers: startCluster(t, 1, 0).network().endpoints()}}
			return []*rest.Config{start(t, o), start(t, o)}
		},
		"two etcds": func(t *testing.T) []*rest.Config {
			other := startCluster(t, 1, 0).members[0].ClientURL
			return []*rest.Config{start(t,
				server.Options{Etcd: server.Etcd{ServersOverrides: []string{"/configmaps#" + other}}})}
		},
	}
}

// inTurns calls do for all rounds, several at a time.
func inTurns(do func(round int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	const workers = 4
	for range workers {
		wg.Go(func() {
			for {
				round := int(next.Add(1)) - 1
				if round >= endRounds() {
					return
				}
				do(round)
			}
		})
	}
	wg.Wait()
}

// soon is eventually with short intervals, for many rounds.
func soon(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := apiwait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, patience, true, holds); err != nil {
		t.Errorf("it did not happen that %s: %v", what, err)
	}
}

// isAbsent reports whether err means that an object does not exist.
func isAbsent(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// TestNamespaceEndsWithAllObjects creates objects in a namespace until it refuses them, while it ends.
// Nothing must be left when it is gone.
func TestNamespaceEndsWithAllObjects(t *testing.T) {
	t.Parallel()
	for name, setup := range endSetups() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clients []*kubernetes.Clientset
			for _, config := range setup(t) {
				clients = append(clients, kubernetes.NewForConfigOrDie(config))
			}
			inTurns(func(round int) {
				// A name is used again and again, like that of a tenant.
				endNamespace(t, clients, fmt.Sprint("n", round%4), round)
			})
		})
	}
}

// namespaceTurns has a lock for each name, because rounds share names.
var namespaceTurns sync.Map

func endNamespace(t *testing.T, clients []*kubernetes.Clientset, name string, round int) {
	turn, _ := namespaceTurns.LoadOrStore(t.Name()+name, &sync.Mutex{})
	turn.(*sync.Mutex).Lock()
	defer turn.(*sync.Mutex).Unlock()
	ctx := t.Context()
	first := clients[0]
	if _, err := first.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
		return
	}
	var created atomic.Int64
	var creators sync.WaitGroup
	for w := range 3 {
		c := clients[w%len(clients)]
		creators.Go(func() {
			for n := 0; ; n++ {
				_, err := c.CoreV1().ConfigMaps(name).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("r%d-%d-%d", round, w, n)}}, metav1.CreateOptions{})
				switch {
				case err == nil:
					created.Add(1)
				case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
					return
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	soon(t, "objects are created", func(context.Context) (bool, error) { return created.Load() > int64(round%5), nil })
	if err := first.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	soon(t, "the namespace ends", func(ctx context.Context) (bool, error) {
		_, err := first.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return isAbsent(err)
	})
	creators.Wait()
	for i, c := range clients {
		list, err := c.CoreV1().ConfigMaps(name).List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) > 0 {
			t.Errorf("round %d: server %d has %d objects of the namespace that is gone, %v", round, i, len(list.Items), err)
		}
	}
}

var definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// TestDefinitionEndsWithAllObjects creates custom objects until their definition ends. The next
// definition of the name must not find any.
func TestDefinitionEndsWithAllObjects(t *testing.T) {
	t.Parallel()
	setups := endSetups()
	delete(setups, "two etcds") // definitions and their objects are never moved
	for name, setup := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clients []dynamic.Interface
			for _, config := range setup(t) {
				clients = append(clients, dynamic.NewForConfigOrDie(config))
			}
			var turns [4]sync.Mutex
			inTurns(func(round int) {
				turn := &turns[round%len(turns)]
				turn.Lock()
				defer turn.Unlock()
				endDefinition(t, clients, schema.GroupVersionResource{Group: "ends.example.com", Version: "v1", Resource: fmt.Sprintf("things%ds", round%len(turns))}, round)
			})
		})
	}
}

func endDefinition(t *testing.T, clients []dynamic.Interface, gvr schema.GroupVersionResource, round int) {
	ctx := t.Context()
	definitions := clients[0].Resource(definitionsResource)
	name, kind := gvr.GroupResource().String(), fmt.Sprintf("Thing%d", round%4)
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"group": gvr.Group, "scope": "Cluster", "names": map[string]any{"kind": kind, "plural": gvr.Resource},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}}}}}
	if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		t.Error(err)
		return
	}
	for i, c := range clients {
		soon(t, "the kind is served", func(ctx context.Context) (bool, error) {
			list, err := c.Resource(gvr).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			if err == nil && len(list.Items) > 0 {
				t.Errorf("round %d: server %d finds %d objects of the former definition", round, i, len(list.Items))
			}
			return err == nil, err
		})
	}
	var created atomic.Int64
	var ends atomic.Bool // until then, a server may still have the former definition
	var creators sync.WaitGroup
	for w := range 3 {
		c := clients[w%len(clients)]
		creators.Go(func() {
			for n := 0; ; n++ {
				isLast := ends.Load()
				_, err := c.Resource(gvr).Create(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": gvr.GroupVersion().String(), "kind": kind,
					"metadata": map[string]any{"name": fmt.Sprintf("r%d-%d-%d", round, w, n)}}}, metav1.CreateOptions{})
				switch {
				case err == nil:
					created.Add(1)
				case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
					if isLast {
						return
					}
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	soon(t, "objects are created", func(context.Context) (bool, error) { return created.Load() > int64(round%5), nil })
	ends.Store(true)
	if err := definitions.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	soon(t, "the definition ends", func(ctx context.Context) (bool, error) {
		_, err := definitions.Get(ctx, name, metav1.GetOptions{})
		return isAbsent(err)
	})
	creators.Wait()
}

// rescue is an object that a controller deletes, and a change that makes it stay.
type rescue struct {
	create func(ctx context.Context, c kubernetes.Interface, name string) error
	save   func(ctx context.Context, c kubernetes.Interface, name string) error
	get    func(ctx context.Context, c kubernetes.Interface, name string) error
}

const lateExpiry = "2100-01-01T00:00:00Z"

// rescues are the controllers that delete objects for a reason that can pass.
func rescues(t *testing.T, alive *corev1.ConfigMap) map[string]rescue {
	mapPatch := func(data string) func(context.Context, kubernetes.Interface, string) error {
		return func(ctx context.Context, c kubernetes.Interface, name string) error {
			_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, name, types.MergePatchType, []byte(data), metav1.PatchOptions{})
			return err
		}
	}
	secretPatch := func(namespace, data string) func(context.Context, kubernetes.Interface, string) error {
		return func(ctx context.Context, c kubernetes.Interface, name string) error {
			_, err := c.CoreV1().Secrets(namespace).Patch(ctx, name, types.MergePatchType, []byte(data), metav1.PatchOptions{})
			return err
		}
	}
	orphan := func(ctx context.Context, c kubernetes.Interface, name string) error {
		_, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "absent", UID: "absent"}}}}, metav1.CreateOptions{})
		return err
	}
	getMap := func(ctx context.Context, c kubernetes.Interface, name string) error {
		_, err := c.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
		return err
	}
	getSecret := func(namespace string) func(ctx context.Context, c kubernetes.Interface, name string) error {
		return func(ctx context.Context, c kubernetes.Interface, name string) error {
			_, err := c.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		}
	}
	request := certificateRequest(t)
	return map[string]rescue{
		"adopted":  {orphan, mapPatch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q}]}}`, alive.Name, alive.UID)), getMap},
		"released": {orphan, mapPatch(`{"metadata":{"ownerReferences":null}}`), getMap},
		"foreground": {func(ctx context.Context, c kubernetes.Interface, name string) error {
			owner, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner-" + name}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			_, err = c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true)}}}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			return c.CoreV1().ConfigMaps("default").Delete(ctx, owner.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
		}, mapPatch(`{"metadata":{"ownerReferences":null}}`), getMap},
		"token": {func(ctx context.Context, c kubernetes.Interface, name string) error {
			_, err := c.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: "absent"}},
				Type: corev1.SecretTypeServiceAccountToken}, metav1.CreateOptions{})
			return err
		}, secretPatch("default", `{"metadata":{"annotations":{"kubernetes.io/service-account.name":"default"}}}`), getSecret("default")},
		"bootstrap": {func(ctx context.Context, c kubernetes.Interface, name string) error {
			_, err := c.CoreV1().Secrets("kube-system").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: "bootstrap.kubernetes.io/token",
				StringData: map[string]string{"token-secret": "0123456789abcdef", "expiration": "2000-01-01T00:00:00Z"}}, metav1.CreateOptions{})
			return err
		}, secretPatch("kube-system", `{"stringData":{"expiration":"`+lateExpiry+`"}}`), getSecret("kube-system")},
		"request": {func(ctx context.Context, c kubernetes.Interface, name string) error {
			csr, err := c.CertificatesV1().CertificateSigningRequests().Create(ctx, &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: certificatesv1.CertificateSigningRequestSpec{Request: request, SignerName: "example.com/signer", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue,
				LastUpdateTime: metav1.NewTime(time.Now().Add(-2 * time.Hour))}}
			_, err = c.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, name, csr, metav1.UpdateOptions{})
			return err
		}, func(ctx context.Context, c kubernetes.Interface, name string) error {
			_, err := c.CertificatesV1().CertificateSigningRequests().Patch(ctx, name, types.MergePatchType,
				[]byte(`{"status":{"conditions":[{"type":"Denied","status":"True","lastUpdateTime":"`+lateExpiry+`"}]}}`), metav1.PatchOptions{}, "approval")
			return err
		}, func(ctx context.Context, c kubernetes.Interface, name string) error {
			_, err := c.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
			return err
		}},
	}
}

func certificateRequest(t *testing.T) []byte {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// TestRescuedObjectsStay changes objects while controllers delete them, so that the reason of the
// deletion passes. An object whose change was acknowledged must stay.
func TestRescuedObjectsStay(t *testing.T) {
	t.Parallel()
	s, _ := startServer(t, server.Options{})
	config := s.RESTConfig()
	config.QPS = -1
	c := kubernetes.NewForConfigOrDie(config)
	alive, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "alive"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for what, r := range rescues(t, alive) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var saved []string
			inTurns(func(round int) {
				name := fmt.Sprintf("%s-%d", what, round)
				if err := r.create(t.Context(), c, name); err != nil {
					t.Errorf("create: %v", err)
					return
				}
				for range round % 4 { // so that the change comes at different moments
					_ = r.get(t.Context(), c, name)
				}
				switch err := r.save(t.Context(), c, name); {
				case err == nil:
					mu.Lock()
					saved = append(saved, name)
					mu.Unlock()
				case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
					t.Errorf("change: %v", err)
				}
			})
			// The controller has ended all deletions when it has deleted what came last.
			if err := r.create(t.Context(), c, what+"-last"); err != nil {
				t.Fatal(err)
			}
			soon(t, "the last object is deleted", func(ctx context.Context) (bool, error) { return isAbsent(r.get(ctx, c, what+"-last")) })
			for _, name := range saved {
				if err := r.get(t.Context(), c, name); err != nil {
					t.Errorf("a change of %s was acknowledged, and then it was deleted: %v", name, err)
				}
			}
			t.Logf("%d of %d objects were changed before their deletion", len(saved), endRounds())
		})
	}
}
