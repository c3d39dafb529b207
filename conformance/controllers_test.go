package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// startWith starts a server and returns clients.
func startWith(t *testing.T, o server.Options) (*server.Server, kubernetes.Interface) {
	t.Helper()
	srv, err := server.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return srv, kubernetes.NewForConfigOrDie(srv.RESTConfig())
}

// eventually waits until holds returns true, and fails the test after a time limit.
func eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// gone reports whether a read returned NotFound.
func gone(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

func configMap(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}
}

func ownedBy(cm *corev1.ConfigMap, block bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: cm.Name, UID: cm.UID, BlockOwnerDeletion: &block}
}

func TestNamespaceDeletion(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx := t.Context()
	const name = "going"
	if _, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := c.CoreV1().ConfigMaps(name).Create(ctx, configMap(fmt.Sprint("cm-", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	held := configMap("held")
	held.Finalizers = []string{"example.com/hold"}
	if _, err := c.CoreV1().ConfigMaps(name).Create(ctx, held, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "conditions", func(ctx context.Context) (bool, error) {
		ns, err := c.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range ns.Status.Conditions {
			if condition.Type == corev1.NamespaceFinalizersRemaining && condition.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	_, err := c.CoreV1().ConfigMaps(name).Create(ctx, configMap("late"), metav1.CreateOptions{})
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("create in a namespace that is being deleted: %v", err)
	}
	if _, err := c.CoreV1().ConfigMaps(name).Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "namespace gone", func(ctx context.Context) (bool, error) {
		_, err := c.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return gone(err)
	})
	list, err := c.CoreV1().ConfigMaps(name).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("left behind: %d, %v", len(list.Items), err)
	}
}

func TestGarbageCollection(t *testing.T) {
	_, c := startWith(t, server.Options{})
	cms := c.CoreV1().ConfigMaps("default")
	get := func(name string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			_, err := cms.Get(ctx, name, metav1.GetOptions{})
			return gone(err)
		}
	}
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		t.Run(string(policy), func(t *testing.T) {
			ctx := t.Context()
			owner, err := cms.Create(ctx, configMap("owner"), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			child, err := cms.Create(ctx, configMap("child", ownedBy(owner, true)), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = cms.Create(ctx, configMap("grandchild", ownedBy(child, true)), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := cms.Delete(ctx, "owner", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "owner gone", get("owner"))
			if policy == metav1.DeletePropagationOrphan {
				got, err := cms.Get(ctx, "child", metav1.GetOptions{})
				if err != nil || len(got.OwnerReferences) != 0 {
					t.Errorf("orphan: %v, %v", got.OwnerReferences, err)
				}
				if err := cms.Delete(ctx, "child", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			} else if policy == metav1.DeletePropagationForeground {
				if ok, err := get("child")(ctx); !ok {
					t.Errorf("the owner went before what it waits for: %v", err)
				}
			}
			eventually(t, "child gone", get("child"))
			eventually(t, "grandchild gone", get("grandchild"))
		})
	}
}

func TestServiceAllocation(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	options := server.Options{Dir: dir,
		Services: server.Services{ClusterIPRange: "10.20.0.0/24", NodePortRange: [2]int32{31000, 31019}}}
	srv, err := server.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	services := kubernetes.NewForConfigOrDie(srv.RESTConfig()).CoreV1().Services("default")
	const n = 15
	var wg sync.WaitGroup
	var mu sync.Mutex
	ips, ports := map[string]bool{}, map[int32]bool{}
	for i := range n {
		wg.Go(func() {
			svc, err := services.Create(ctx, nodePortService(fmt.Sprint("s", i), 0), metav1.CreateOptions{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			if ips[svc.Spec.ClusterIP] || ports[svc.Spec.Ports[0].NodePort] {
				t.Errorf("given twice: %s, %d", svc.Spec.ClusterIP, svc.Spec.Ports[0].NodePort)
			}
			ips[svc.Spec.ClusterIP], ports[svc.Spec.Ports[0].NodePort] = true, true
		})
	}
	wg.Wait()
	dry, err := services.Create(ctx, nodePortService("dry", 0), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || dry.Spec.ClusterIP == "" {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	if err := srv.Stop(ctx); err != nil {
		t.Fatal(err)
	}

	// Allocations are recorded, and released ones are available again.
	_, c := startWith(t, options)
	services = c.CoreV1().Services("default")
	taken, err := services.Get(ctx, "s0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Spec.Ports[0].NodePort
	if _, err := services.Create(ctx, nodePortService("again", port), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a taken port: %v", err)
	}
	if err := services.Delete(ctx, "s0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := services.Create(ctx, nodePortService("again", port), metav1.CreateOptions{}); err != nil {
		t.Errorf("a released port: %v", err)
	}
	if _, err := c.NetworkingV1().IPAddresses().Get(ctx, taken.Spec.ClusterIP, metav1.GetOptions{}); !apierrors.IsNotFound(err) && err != nil {
		t.Error(errors.Join(errors.New("released address"), err))
	}
	full := 0
	for i := range 10 {
		if _, err := services.Create(ctx, nodePortService(fmt.Sprint("more", i), 0), metav1.CreateOptions{}); err != nil {
			full++
		}
	}
	if want := 10 - (20 - n); full != want {
		t.Errorf("refused %d services, want %d: there are 20 ports", full, want)
	}
}

func nodePortService(name string, port int32) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: port}},
	}}
}

func TestKubernetesService(t *testing.T) {
	_, c := startWith(t, server.Options{})
	svc, err := c.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || svc.Spec.ClusterIP != "10.96.0.1" {
		t.Errorf("service kubernetes: %v, %v", svc, err)
	}
	if _, err := c.NetworkingV1().IPAddresses().Get(t.Context(), "10.96.0.1", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.NetworkingV1().ServiceCIDRs().Get(t.Context(), "kubernetes", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestPodInNewNamespace creates pods in new namespaces, which requires waiting for the default
// service account.
func TestPodInNewNamespace(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx := t.Context()
	var longest time.Duration
	for i := range 50 {
		name := fmt.Sprint("new-", i)
		if _, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		pod, err := c.CoreV1().Pods(name).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c:1"}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if pod.Spec.ServiceAccountName != "default" {
			t.Errorf("%s: service account %q", name, pod.Spec.ServiceAccountName)
		}
		longest = max(longest, time.Since(before))
	}
	t.Logf("at most %v", longest)
}
