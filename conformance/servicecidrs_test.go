package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestServiceCIDRs checks that an added ServiceCIDR becomes ready, and that a deleted one stays while services have addresses
// that no other one contains.
func TestServiceCIDRs(t *testing.T) {
	t.Parallel()
	_, c := startWith(t, server.Options{})
	ranges, services, ctx := c.NetworkingV1().ServiceCIDRs(), c.CoreV1().Services("default"), t.Context()
	create := func(name, cidr string) {
		t.Helper()
		_, err := ranges.Create(ctx, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{cidr}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	remove := func(name string) {
		t.Helper()
		if err := ranges.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	awaitCondition := func(name string, want metav1.Condition) {
		t.Helper()
		eventually(t, name+" "+string(want.Status), func(ctx context.Context) (bool, error) {
			r, err := ranges.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			got := meta.FindStatusCondition(r.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
			return got != nil && got.Status == want.Status && got.Reason == want.Reason && got.Message == want.Message && !got.LastTransitionTime.IsZero() &&
				slices.Equal(r.Finalizers, []string{"networking.k8s.io/service-cidr-finalizer"}), nil
		})
	}
	ready := metav1.Condition{Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready"}
	blocked := metav1.Condition{Status: metav1.ConditionFalse, Reason: "Terminating", Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"}
	awaitCondition("kubernetes", ready)
	create("more", "10.1.0.0/24")
	awaitCondition("more", ready)

	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{ClusterIP: "10.1.0.9", Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := services.Create(ctx, svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create("part", "10.1.0.0/28")
	awaitCondition("part", ready)
	deleted := time.Now()
	remove("part") // which another one contains
	remove("more")
	awaitCondition("more", blocked)
	if err := services.Delete(ctx, "s", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"part", "more"} {
		eventually(t, "the end of "+name, func(ctx context.Context) (bool, error) {
			_, err := ranges.Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	}
	if took := time.Since(deleted); took < 9*time.Second { // the time of the deletion has no fraction of a second
		t.Errorf("a ServiceCIDR ended after %v", took)
	}
}
