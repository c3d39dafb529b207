package conformance

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

const countSecrets = corev1.ResourceName("count/secrets")

// limitSecrets creates a quota of secrets and waits until it is effective.
func limitSecrets(t *testing.T, c kubernetes.Interface, name, most string) {
	t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{countSecrets: resource.MustParse(most)}}}
	if _, err := c.CoreV1().ResourceQuotas("default").Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "quota in force", func(ctx context.Context) (bool, error) {
		return usedSecrets(ctx, c, name) != "", nil
	})
}

// usedSecrets returns the used amount in the status, or "".
func usedSecrets(ctx context.Context, c kubernetes.Interface, name string) string {
	quota, err := c.CoreV1().ResourceQuotas("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	used, ok := quota.Status.Used[countSecrets]
	if !ok {
		return ""
	}
	return used.String()
}

// createSecrets creates n secrets concurrently and returns the number of admitted ones. Errors
// other than a rejection by quota fail the test.
func createSecrets(t *testing.T, c kubernetes.Interface, prefix string, n int) int64 {
	t.Helper()
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(prefix, i)}}
			switch _, err := c.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); {
			case err == nil:
				admitted.Add(1)
			case !apierrors.IsForbidden(err):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return admitted.Load()
}

// TestQuotaConcurrent checks that of 200 concurrent creates exactly as many as the quota allows are
// admitted and counted, also during deletions and recounts, and with two overlapping quotas.
func TestQuotaConcurrent(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx := t.Context()
	limitSecrets(t, c, "fifty", "50")
	limitSecrets(t, c, "sixty", "60")
	if n := createSecrets(t, c, "first-", 200); n != 50 {
		t.Errorf("%d of 200 were admitted to a quota of 50", n)
	}
	if used := usedSecrets(ctx, c, "fifty"); used != "50" {
		t.Errorf("used: %s, want 50", used)
	}
	for round := range 3 {
		deleted := make(chan error, 1)
		go func() {
			deleted <- c.CoreV1().Secrets("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{Limit: 20})
		}()
		createSecrets(t, c, fmt.Sprintf("round-%d-", round), 100)
		if err := <-deleted; err != nil {
			t.Fatal(err)
		}
		list, err := c.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) > 50 {
			t.Fatalf("%d secrets under a quota of 50, %v", len(list.Items), err)
		}
		for _, name := range []string{"fifty", "sixty"} {
			eventually(t, "status is true", func(ctx context.Context) (bool, error) {
				return usedSecrets(ctx, c, name) == fmt.Sprint(len(list.Items)), nil
			})
		}
	}
}

// TestQuotaFailedWrite checks that the charge of a failed write is returned.
func TestQuotaFailedWrite(t *testing.T) {
	_, c := startWith(t, server.Options{})
	limitSecrets(t, c, "few", "5")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	for range 5 {
		_, err := c.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
	}
	eventually(t, "status is true", func(ctx context.Context) (bool, error) {
		return usedSecrets(ctx, c, "few") == "1", nil
	})
	dry := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "dry"}}
	if _, err := c.CoreV1().Secrets("default").Create(t.Context(), dry, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if used := usedSecrets(t.Context(), c, "few"); used != "1" {
		t.Errorf("a dry run was charged: %s", used)
	}
}

// TestQuotaScopeChange checks that an update which moves a pod into the scope of a quota is charged at
// once and refused if it exceeds the quota, and that the quota of the scope that it leaves is released.
func TestQuotaScopeChange(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx := t.Context()
	pods := c.CoreV1().Pods("default")
	used := func(ctx context.Context, name string) string {
		q, err := c.CoreV1().ResourceQuotas("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return q.Status.Used.Pods().String() + " pods, " + q.Status.Used.Cpu().String() + " CPU"
	}
	for name, scope := range map[string]corev1.ResourceQuotaScope{"short": corev1.ResourceQuotaScopeTerminating, "long": corev1.ResourceQuotaScopeNotTerminating} {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("2")}}}
		q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}}}
		if _, err := c.CoreV1().ResourceQuotas("default").Create(ctx, q, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "quota in force", func(ctx context.Context) (bool, error) { return used(ctx, name) == "0 pods, 0 CPU", nil })
	}
	pod := func(name string, deadline *int64) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{ActiveDeadlineSeconds: deadline,
			Containers: []corev1.Container{{Name: "main", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}}}}}
	}
	hour := int64(3600)
	if _, err := pods.Create(ctx, pod("one", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deadline := []byte(`{"spec":{"activeDeadlineSeconds":3600}}`)
	if _, err := pods.Patch(ctx, "one", types.MergePatchType, deadline, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := used(ctx, "short"); got != "1 pods, 2 CPU" {
		t.Errorf("the quota of the new scope: %s", got)
	}
	if _, err := pods.Create(ctx, pod("two", &hour), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a second pod in the scope: %v", err)
	}
	eventually(t, "release of the old scope", func(ctx context.Context) (bool, error) { return used(ctx, "long") == "0 pods, 0 CPU", nil })
	if _, err := pods.Create(ctx, pod("three", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Patch(ctx, "three", types.MergePatchType, deadline, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a move into a scope without room: %v", err)
	}
	if err := pods.Delete(ctx, "one", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "release of the deleted pod", func(ctx context.Context) (bool, error) { return used(ctx, "short") == "0 pods, 0 CPU", nil })
}

// TestQuotaResize checks that a pod uses what its node has allocated while that exceeds its requests.
func TestQuotaResize(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx := t.Context()
	pods := c.CoreV1().Pods("default")
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5")}}}
	if _, err := c.CoreV1().ResourceQuotas("default").Create(ctx, q, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	uses := func(want string) {
		t.Helper()
		eventually(t, "usage of "+want, func(ctx context.Context) (bool, error) {
			q, err := c.CoreV1().ResourceQuotas("default").Get(ctx, "q", metav1.GetOptions{})
			return err == nil && len(q.Status.Used) > 0 && q.Status.Used.Cpu().String() == want, err
		})
	}
	uses("0")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}}}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	uses("1")
	for allocated, want := range map[string]string{"4": "4", "500m": "1"} {
		status := fmt.Sprintf(`{"status":{"containerStatuses":[{"name":"main","image":"i","imageID":"","ready":true,"restartCount":0,"allocatedResources":{"cpu":%q}}]}}`, allocated)
		if _, err := pods.Patch(ctx, "p", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		uses(want)
	}
}
