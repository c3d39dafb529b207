package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// startTwo starts two servers on one etcd, and returns a client of each.
func startTwo(t *testing.T, o server.Options) [2]*kubernetes.Clientset {
	t.Helper()
	o.Etcd.Servers, o.Limits.RequestTimeout = startCluster(t, 1, 0).network().endpoints(), requestTimeout
	var clients [2]*kubernetes.Clientset
	for i := range clients {
		s, _ := startServer(t, o)
		config := s.RESTConfig()
		config.QPS = -1 // the test is about concurrent writes
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		clients[i] = client
	}
	return clients
}

// together calls do n times for each client, concurrently, with different numbers.
func together(clients [2]*kubernetes.Clientset, n int, do func(c *kubernetes.Clientset, number int)) {
	var wg sync.WaitGroup
	const workers = 4
	for i, c := range clients {
		for w := range workers {
			wg.Go(func() {
				for k := w; k < n; k += workers {
					do(c, 2*k+i)
				}
			})
		}
	}
	wg.Wait()
}

// TestStartTogether starts two servers at the same time on an etcd without any objects. Both must
// start at the first attempt.
func TestStartTogether(t *testing.T) {
	t.Parallel()
	for range 4 {
		endpoints := startCluster(t, 1, 0).network().endpoints()
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				s, err := server.Start(t.Context(),
					server.Options{Etcd: server.Etcd{Servers: endpoints},
						Limits: server.Limits{RequestTimeout: requestTimeout}})
				if err != nil {
					t.Errorf("server %d: %v", i, err)
					return
				}
				if err := s.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// TestAllocationsOfTwoServers creates more services through two servers than there are node ports,
// deletes some at the same time, and checks that no address and no port was given out twice, and
// that all ports can be used again.
func TestAllocationsOfTwoServers(t *testing.T) {
	t.Parallel()
	const ports = 40
	clients := startTwo(t, server.Options{
		Services: server.Services{ClusterIPRange: "10.9.0.0/24", NodePortRange: [2]int32{30000, 30000 + ports - 1}}})
	create := func(c *kubernetes.Clientset, name string) (*corev1.Service, error) {
		return c.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
	}
	for round := range 2 {
		var mu sync.Mutex
		made := map[string]*corev1.Service{}
		refused := 0
		together(clients, ports, func(c *kubernetes.Clientset, number int) {
			svc, err := create(c, fmt.Sprintf("s%d-%d", round, number))
			if err == nil && number%5 == 0 { // frees them again
				if err := c.CoreV1().Services("default").Delete(t.Context(), svc.Name, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made[svc.Name] = svc
			case apierrors.IsInternalError(err) || apierrors.IsInvalid(err):
				refused++
			default:
				t.Error(err)
			}
		})
		if len(made) > ports || refused == 0 {
			t.Errorf("%d services have one of %d ports, %d were refused", len(made), ports, refused)
		}
		// The ports that were free for a while may not have been found by any of the others.
		for n := 0; len(made) < ports; n++ {
			svc, err := create(clients[n%2], fmt.Sprintf("t%d-%d", round, n))
			if err != nil {
				t.Fatalf("%d services have one of %d ports: %v", len(made), ports, err)
			}
			made[svc.Name] = svc
		}
		if _, err := create(clients[round], "one-more"); err == nil {
			t.Error("there is a port more")
		}
		ips, nodePorts := map[string]string{}, map[int32]string{}
		for _, svc := range made {
			if other := ips[svc.Spec.ClusterIP]; other != "" {
				t.Errorf("%s and %s have the address %s", svc.Name, other, svc.Spec.ClusterIP)
			}
			if other := nodePorts[svc.Spec.Ports[0].NodePort]; other != "" {
				t.Errorf("%s and %s have the port %d", svc.Name, other, svc.Spec.Ports[0].NodePort)
			}
			ips[svc.Spec.ClusterIP], nodePorts[svc.Spec.Ports[0].NodePort] = svc.Name, svc.Name
		}
		// Each server deletes the services that the other one created, among others.
		names := slices.Collect(func(yield func(string) bool) {
			for name := range made {
				if !yield(name) {
					return
				}
			}
		})
		for n, name := range names {
			if err := clients[n%2].CoreV1().Services("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestQuotaOfTwoServers creates objects through two servers at the same time. They charge one quota,
// which is never exceeded, and what one server deletes the other can use.
func TestQuotaOfTwoServers(t *testing.T) {
	t.Parallel()
	clients := startTwo(t, server.Options{})
	const hard = 20
	if _, err := clients[0].CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "q"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"count/secrets": resource.MustParse(fmt.Sprint(hard))}}}
	if _, err := clients[0].CoreV1().ResourceQuotas("q").Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, c := range clients {
		eventually(t, fmt.Sprintf("server %d has the quota with its usage", i), func(ctx context.Context) error {
			got, err := c.CoreV1().ResourceQuotas("q").Get(ctx, "q", metav1.GetOptions{ResourceVersion: "0"})
			if err == nil && len(got.Status.Used) == 0 {
				err = fmt.Errorf("status %+v", got.Status)
			}
			return err
		})
	}
	for round := range 2 {
		together(clients, hard, func(c *kubernetes.Clientset, number int) {
			_, err := c.CoreV1().Secrets("q").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d-%d", round, number)}}, metav1.CreateOptions{})
			if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) {
				t.Error(err)
			}
		})
		// A conflict about the quota is no refusal: the client tries again.
		for n := 0; ; n++ {
			_, err := clients[n%2].CoreV1().Secrets("q").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("t%d-%d", round, n)}}, metav1.CreateOptions{})
			if apierrors.IsForbidden(err) {
				break
			}
			if err != nil && !apierrors.IsConflict(err) || n > hard {
				t.Fatalf("secret %d: %v", n, err)
			}
		}
		for i, c := range clients {
			list, err := c.CoreV1().Secrets("q").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != hard {
				t.Fatalf("server %d lists %d secrets, %v", i, len(list.Items), err)
			}
		}
		if err := clients[1].CoreV1().Secrets("q").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		for i, c := range clients {
			eventually(t, fmt.Sprintf("server %d sees that the quota is free", i), func(ctx context.Context) error {
				got, err := c.CoreV1().ResourceQuotas("q").Get(ctx, "q", metav1.GetOptions{ResourceVersion: "0"})
				if used := got.Status.Used["count/secrets"]; err == nil && !used.IsZero() {
					err = fmt.Errorf("used %s", used.String())
				}
				return err
			})
		}
	}
}
