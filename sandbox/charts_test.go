package sandbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// TestCharts checks that what charts install becomes ready.
func TestCharts(t *testing.T) {
	s := Start(t, Options{Nodes: 4, NodePreset: "mixed"}) // the last node has a taint
	for name, namespace := range map[string]string{"database": "database", "shop": "store", "cronjob": "reports", "operator": "caches", "daemonset": "agents"} {
		t.Run(name, func(t *testing.T) {
			if err := s.Load(t.Context(), "testdata/charts/"+name+".yaml"); err != nil {
				t.Fatal(err)
			}
			if name == "operator" {
				operate(t, s)
			}
			var unready string
			defer func() {
				if unready != "" {
					t.Log("not ready:", unready)
				}
			}()
			eventually(t, "all is ready", func(ctx context.Context) (_ bool, err error) {
				unready, err = notReady(ctx, s.Client, namespace)
				return unready == "", err
			})
		})
	}
	t.Run("report", func(t *testing.T) { report(t, s.Client) })
	sets, err := s.Client.AppsV1().DaemonSets("agents").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 || sets.Items[0].Status.NumberReady != 4 {
		t.Errorf("the agent does not run on all nodes: %v, %v", sets, err)
	}
}

// notReady names an object of a namespace that is not ready, or returns "".
func notReady(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
	for _, check := range []func(context.Context, kubernetes.Interface, string) (string, error){workloadNotReady, networkNotReady, policyNotReady} {
		if name, err := check(ctx, client, namespace); name != "" || err != nil {
			return name, err
		}
	}
	return "", nil
}

func workloadNotReady(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
	deployments, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration != d.Generation || d.Status.AvailableReplicas != *d.Spec.Replicas {
			return "Deployment " + d.Name, nil
		}
	}
	sets, err := client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, set := range sets.Items {
		if set.Status.ObservedGeneration != set.Generation || set.Status.AvailableReplicas != *set.Spec.Replicas {
			return "StatefulSet " + set.Name, nil
		}
	}
	daemons, err := client.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, d := range daemons.Items {
		if d.Status.DesiredNumberScheduled == 0 || d.Status.NumberAvailable != d.Status.DesiredNumberScheduled {
			return "DaemonSet " + d.Name, nil
		}
	}
	claims, err := client.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, c := range claims.Items {
		if c.Status.Phase != corev1.ClaimBound {
			return "PersistentVolumeClaim " + c.Name, nil
		}
	}
	return "", nil
}

func networkNotReady(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
	services, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, service := range services.Items {
		if service.Spec.Type == corev1.ServiceTypeLoadBalancer && len(service.Status.LoadBalancer.Ingress) == 0 {
			return "Service " + service.Name, nil
		}
		slices, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name})
		if err != nil {
			return "", err
		}
		if len(slices.Items) == 0 || len(slices.Items[0].Endpoints) == 0 {
			return "endpoints of Service " + service.Name, nil
		}
	}
	ingresses, err := client.NetworkingV1().Ingresses(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, ingress := range ingresses.Items {
		if len(ingress.Status.LoadBalancer.Ingress) == 0 {
			return "Ingress " + ingress.Name, nil
		}
	}
	return "", nil
}

func policyNotReady(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
	budgets, err := client.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, b := range budgets.Items {
		if b.Status.DisruptionsAllowed == 0 {
			return "PodDisruptionBudget " + b.Name, nil
		}
	}
	scalers, err := client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, scaler := range scalers.Items {
		if len(scaler.Status.CurrentMetrics) == 0 {
			return "HorizontalPodAutoscaler " + scaler.Name, nil
		}
	}
	return "", nil
}

// report runs the CronJob now, as kubectl create job --from does.
func report(t *testing.T, client kubernetes.Interface) {
	cron, err := client.BatchV1().CronJobs("reports").Get(t.Context(), "report", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "now"}, Spec: cron.Spec.JobTemplate.Spec}
	if _, err := client.BatchV1().Jobs("reports").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the report is complete", func(ctx context.Context) (bool, error) {
		j, err := client.BatchV1().Jobs("reports").Get(ctx, "now", metav1.GetOptions{})
		return err == nil && j.Status.CompletionTime != nil && j.Status.CompletedIndexes == "0-3", err
	})
}

// operate plays the program of the chart's operator, with the access of its account: it becomes the leader, creates a
// StatefulSet for the Cache, and writes its status.
func operate(t *testing.T, s *Sandbox) {
	t.Helper()
	config := s.RESTConfig()
	config.Impersonate.UserName = "system:serviceaccount:caches:operator"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	caches, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	leading := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: "cache-operator", Namespace: "caches"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "operator-0"},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(leading) }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	go elector.Run(ctx)
	select {
	case <-leading:
	case <-time.After(time.Minute):
		t.Fatal("no leader")
	}
	kind := caches.Resource(schema.GroupVersionResource{Group: "charts.example.com", Version: "v1", Resource: "caches"}).Namespace("caches")
	eventually(t, "the Cache is ready", func(ctx context.Context) (bool, error) { return reconcile(ctx, client, kind) })
	if _, err := client.CoreV1().Secrets("caches").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the operator may read Secrets: %v", err)
	}
}

// reconcile brings the Cache of the chart a step further, and reports whether it is ready.
func reconcile(ctx context.Context, client kubernetes.Interface, caches dynamic.ResourceInterface) (bool, error) {
	cache, err := caches.Get(ctx, "sessions", metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	size, found, err := unstructured.NestedInt64(cache.Object, "spec", "size")
	if !found || err != nil {
		return false, fmt.Errorf("size of the Cache: %v, %w", found, err)
	}
	set, err := client.AppsV1().StatefulSets("caches").Get(ctx, "sessions", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		replicas, labels := int32(size), map[string]string{"cache": "sessions"}
		set, err = client.AppsV1().StatefulSets("caches").Create(ctx, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "sessions", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cache, cache.GroupVersionKind())}},
			Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate(labels)},
		}, metav1.CreateOptions{})
	}
	if err != nil || set.Status.AvailableReplicas != int32(size) {
		return false, err
	}
	if err := unstructured.SetNestedField(cache.Object, size, "status", "ready"); err != nil {
		return false, err
	}
	_, err = caches.UpdateStatus(ctx, cache, metav1.UpdateOptions{})
	return err == nil, err
}
