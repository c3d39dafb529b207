package conformance

import (
	"testing"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestEvictionRequests requests and withdraws the eviction of a pod, and reports progress as the
// responder of the eviction.
func TestEvictionRequests(t *testing.T) {
	_, c := startWith(t, server.Options{RuntimeConfig: map[string]string{"lifecycle.k8s.io/v1alpha1": "true"}, FeatureGates: map[string]bool{"EvictionRequestAPI": true}})
	const uid, responder = "0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1", "example.com/responder"
	requests, evictions := c.LifecycleV1alpha1().EvictionRequests("default"), c.LifecycleV1alpha1().Evictions("default")
	request := &lifecyclev1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: lifecyclev1alpha1.EvictionRequestSpec{
		Target:    lifecyclev1alpha1.EvictionRequestTarget{Pod: &lifecyclev1alpha1.EvictionRequestPodReference{Name: "p", UID: uid}},
		Requester: "example.com/drain", Intent: lifecyclev1alpha1.EvictionRequestIntentEviction}}
	request, err := requests.Create(t.Context(), request, metav1.CreateOptions{})
	if err != nil || request.Generation != 1 {
		t.Fatalf("%+v %v", request, err)
	}
	request.Spec.Intent = lifecyclev1alpha1.EvictionRequestIntentWithdrawn
	if request, err = requests.Update(t.Context(), request, metav1.UpdateOptions{}); err != nil || request.Generation != 2 {
		t.Fatalf("%+v %v", request, err)
	}
	request.Status.ObservedGeneration = new(int64(2))
	if request, err = requests.UpdateStatus(t.Context(), request, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	request.Status.ObservedGeneration = new(int64(1))
	if _, err = requests.UpdateStatus(t.Context(), request, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("an older generation: %v", err)
	}
	eviction, err := evictions.Create(t.Context(), &lifecyclev1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "e"},
		Spec: lifecyclev1alpha1.EvictionSpec{Target: lifecyclev1alpha1.EvictionTarget{Pod: &lifecyclev1alpha1.EvictionPodReference{Name: "p", UID: uid}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.Now()
	eviction.Status.TargetResponders = []lifecyclev1alpha1.TargetResponder{{Name: responder, Priority: new(int32(2000)), State: lifecyclev1alpha1.ResponderStateActive}}
	eviction.Status.Responders = []lifecyclev1alpha1.ResponderStatus{{Name: responder, StartTime: &now}}
	if eviction, err = evictions.UpdateStatus(t.Context(), eviction, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eviction.Status.TargetResponders[0].State = lifecyclev1alpha1.ResponderStateInterrupted
	if _, err = evictions.UpdateStatus(t.Context(), eviction, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("interrupted: %v", err)
	}
}
