package controllers_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestQuotaStatus checks that the status of a quota follows the limits and the usage: of
// objects that exist before the quota, of created and deleted objects, and of pods that end.
func TestQuotaStatus(t *testing.T) {
	_, c := start(t, server.Options{})
	ctx, core := t.Context(), c.CoreV1()
	const counted = corev1.ResourceName("count/secrets")
	addSecret := func(name string) func() error {
		return func() error {
			_, err := core.Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			return err
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	setLimit := func(limit string) func() error {
		return func() error {
			q, err := core.ResourceQuotas("default").Get(ctx, "q", metav1.GetOptions{})
			if err == nil {
				q.Spec.Hard[counted] = resource.MustParse(limit)
				_, err = core.ResourceQuotas("default").Update(ctx, q, metav1.UpdateOptions{})
			}
			return err
		}
	}
	eventually(t, "default service account", func(ctx context.Context) (bool, error) {
		_, err := core.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, err
	})
	for _, step := range []struct {
		name                 string
		do                   func() error
		limit, secrets, pods string
	}{
		{"an object before the quota", addSecret("a"), "", "", ""},
		{"a new quota", func() error {
			_, err := core.ResourceQuotas("default").Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{counted: resource.MustParse("3"), corev1.ResourcePods: resource.MustParse("1")}}}, metav1.CreateOptions{})
			return err
		}, "3", "1", "0"},
		{"a created object", addSecret("b"), "3", "2", "0"},
		{"a deleted object", func() error { return core.Secrets("default").Delete(ctx, "a", metav1.DeleteOptions{}) }, "3", "1", "0"},
		{"a changed limit", setLimit("2"), "2", "1", "0"},
		{"a created pod", func() (err error) {
			pod, err = core.Pods("default").Create(ctx, pod, metav1.CreateOptions{})
			return err
		}, "2", "1", "1"},
		{"a pod that ended", func() error {
			pod.Status.Phase = corev1.PodSucceeded
			_, err := core.Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
			return err
		}, "2", "1", "0"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if step.limit == "" {
			continue
		}
		eventually(t, step.name, func(ctx context.Context) (bool, error) {
			q, err := core.ResourceQuotas("default").Get(ctx, "q", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			text := func(list corev1.ResourceList, name corev1.ResourceName) string { n := list[name]; return n.String() }
			return text(q.Status.Hard, counted) == step.limit && text(q.Status.Used, counted) == step.secrets && text(q.Status.Used, corev1.ResourcePods) == step.pods, nil
		})
	}
}
