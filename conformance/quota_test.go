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
