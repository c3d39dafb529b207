package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// namespaceConditions returns the conditions of a namespace in their order.
func namespaceConditions(ctx context.Context, c kubernetes.Interface, name string) ([]string, error) {
	ns, err := c.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, cond := range ns.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s %s: %s", cond.Type, cond.Status, cond.Reason, cond.Message))
	}
	return out, nil
}

// awaitNamespaceConditions waits until the conditions of a namespace are these.
func awaitNamespaceConditions(t *testing.T, c kubernetes.Interface, name string, want ...string) {
	t.Helper()
	var got []string
	defer func() {
		if t.Failed() {
			t.Logf("last:\n%s", strings.Join(got, "\n"))
		}
	}()
	eventually(t, "the conditions of "+name, func(ctx context.Context) (_ bool, err error) {
		got, err = namespaceConditions(ctx, c, name)
		return slices.Equal(got, want), err
	})
}

func awaitNamespaceEnd(t *testing.T, c kubernetes.Interface, name string) {
	t.Helper()
	eventually(t, "the namespace ends", func(ctx context.Context) (bool, error) {
		_, err := c.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return gone(err)
	})
}

const (
	allDiscovered  = "NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered"
	allParsed      = "NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube types successfully parsed"
	contentDeleted = "NamespaceDeletionContentFailure=False ContentDeleted: All content successfully deleted, may be waiting on finalization"
	nothingRemains = "NamespaceContentRemaining=False ContentRemoved: All content successfully removed"
	noFinalizers   = "NamespaceFinalizersRemaining=False ContentHasNoFinalizers: All content-preserving finalizers finished"
)

// TestNamespaceEndsInOrder checks that everything in a namespace stays until its pods are gone, and
// what the conditions of the namespace are meanwhile.
func TestNamespaceEndsInOrder(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx := t.Context()
	const name = "order"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(err)
	held := []string{"example.com/hold"}
	_, err = c.CoreV1().Pods(name).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "runs", Finalizers: held},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
	must(err)
	_, err = c.NetworkingV1().NetworkPolicies(name).Create(ctx, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	must(err)
	_, err = c.CoreV1().Secrets(name).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: held}}, metav1.CreateOptions{})
	must(err)
	_, err = c.RbacV1().RoleBindings(name).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "kept"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}, metav1.CreateOptions{})
	must(err)
	must(c.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}))
	awaitNamespaceConditions(t, c, name, allDiscovered, allParsed, contentDeleted,
		"NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances",
		"NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances")
	policy, err := c.NetworkingV1().NetworkPolicies(name).Get(ctx, "kept", metav1.GetOptions{})
	if err != nil || policy.DeletionTimestamp != nil {
		t.Errorf("network policy: %v, %v", policy.DeletionTimestamp, err)
	}
	binding, err := c.RbacV1().RoleBindings(name).Get(ctx, "kept", metav1.GetOptions{})
	if err != nil || binding.DeletionTimestamp != nil {
		t.Errorf("role binding: %v, %v", binding.DeletionTimestamp, err)
	}
	free := []byte(`{"metadata":{"finalizers":null}}`)
	_, err = c.CoreV1().Pods(name).Patch(ctx, "runs", types.MergePatchType, free, metav1.PatchOptions{})
	must(err)
	awaitNamespaceConditions(t, c, name, allDiscovered, allParsed, contentDeleted,
		"NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: secrets. has 1 resource instances",
		"NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances")
	_, err = c.CoreV1().Secrets(name).Patch(ctx, "kept", types.MergePatchType, free, metav1.PatchOptions{})
	must(err)
	awaitNamespaceEnd(t, c, name)
}

// memoryServer is an aggregated API server for one namespaced kind.
type memoryServer struct {
	verbs []string

	mu      sync.Mutex
	down    bool
	refuses bool                       // deletions
	objects map[string]map[string]bool // the names in each namespace
}

const memoryGroup = "memory.example.com"

// ServeHTTP implements http.Handler.
func (m *memoryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	respond := func(code int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	fail := func(code int, reason metav1.StatusReason) {
		respond(code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "memory: " + string(reason)})
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case m.down:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case r.URL.Path == "/apis/"+memoryGroup+"/v1":
		respond(http.StatusOK, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: memoryGroup + "/v1",
			APIResources: []metav1.APIResource{{Name: "things", SingularName: "thing", Namespaced: true, Kind: "Thing", Verbs: m.verbs}}})
	case len(parts) < 6 || parts[5] != "things":
		http.NotFound(w, r)
	case r.Method == http.MethodDelete && m.refuses:
		fail(http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.Method == http.MethodDelete && len(parts) == 7:
		delete(m.objects[parts[4]], parts[6])
		respond(http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	case r.Method == http.MethodDelete && slices.Contains(m.verbs, "deletecollection"):
		delete(m.objects, parts[4])
		respond(http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	case r.Method == http.MethodDelete:
		fail(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)
	default:
		m.list(parts[4], r.URL.Query().Get("continue"), respond)
	}
}

// list responds with pages of one object.
func (m *memoryServer) list(namespace, after string, respond func(int, any)) {
	items, next := []any{}, ""
	for _, name := range slices.Sorted(maps.Keys(m.objects[namespace])) {
		if name <= after {
			continue
		}
		if len(items) == 1 {
			next = items[0].(map[string]any)["metadata"].(map[string]any)["name"].(string)
			break
		}
		items = append(items, map[string]any{"apiVersion": memoryGroup + "/v1", "kind": "Thing", "metadata": map[string]any{"name": name, "namespace": namespace}})
	}
	respond(http.StatusOK, map[string]any{"apiVersion": memoryGroup + "/v1", "kind": "ThingList", "metadata": map[string]any{"continue": next}, "items": items})
}

// set changes the server.
func (m *memoryServer) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// TestNamespaceEndOfAggregated checks that the objects of an aggregated server are deleted with their
// namespace, and that the namespace stays while the server does not respond or refuses.
func TestNamespaceEndOfAggregated(t *testing.T) {
	for name, verbs := range map[string][]string{
		"collection": {"create", "delete", "deletecollection", "get", "list"},
		"one by one": {"create", "delete", "get", "list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &memoryServer{verbs: verbs, objects: map[string]map[string]bool{}}
			c := startMemoryServer(t, m)
			begin := func(namespace string) {
				t.Helper()
				if _, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				m.set(func() { m.objects[namespace] = map[string]bool{"a": true, "b": true, "c": true} })
			}
			end := func(namespace string) {
				t.Helper()
				awaitNamespaceEnd(t, c, namespace)
				m.set(func() {
					if left := len(m.objects[namespace]); left > 0 {
						t.Errorf("%d objects outlive %s", left, namespace)
					}
				})
			}
			remove := func(namespace string) {
				t.Helper()
				if err := c.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			begin("responds")
			remove("responds")
			end("responds")

			begin("refuses")
			m.set(func() { m.refuses = true })
			remove("refuses")
			awaitNamespaceConditions(t, c, "refuses", allDiscovered, allParsed,
				"NamespaceDeletionContentFailure=True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: memory: Forbidden", nothingRemains, noFinalizers)
			m.set(func() { m.refuses = false })
			end("refuses")

			begin("down")
			m.set(func() { m.down = true })
			remove("down")
			// Before the outage is noticed the list fails, and afterwards the discovery.
			eventually(t, "condition for the outage", func(ctx context.Context) (bool, error) {
				conditions, err := namespaceConditions(ctx, c, "down")
				return slices.ContainsFunc(conditions, func(c string) bool {
					return c == "NamespaceDeletionContentFailure=True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: the server is currently unable to handle the request" ||
						c == "NamespaceDeletionDiscoveryFailure=True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "+
							memoryGroup+"/v1: stale GroupVersion discovery: "+memoryGroup+"/v1"
				}), err
			})
			m.set(func() { m.down = false })
			end("down")
		})
	}
}

// startMemoryServer starts a server that aggregates m.
func startMemoryServer(t *testing.T, m *memoryServer) kubernetes.Interface {
	t.Helper()
	remote := httptest.NewTLSServer(m)
	t.Cleanup(remote.Close)
	address := remote.Listener.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s, c := startWith(t, server.Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	if _, err := c.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "memory"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "memory.example.com"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := dynamic.NewForConfigOrDie(s.RESTConfig())
	service := map[string]any{"namespace": "default", "name": "memory", "port": json.Number(port)}
	body, err := json.Marshal(map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + memoryGroup},
		"spec": map[string]any{"group": memoryGroup, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10, "insecureSkipTLSVerify": true, "service": service}})
	if err != nil {
		t.Fatal(err)
	}
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(body); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}).Create(t.Context(), &u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	things := d.Resource(schema.GroupVersionResource{Group: memoryGroup, Version: "v1", Resource: "things"})
	eventually(t, "the things are served", func(ctx context.Context) (bool, error) {
		_, err := things.Namespace("default").List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	return c
}
