package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestWhatAdmissionIsSent compares the objects and options that a validating webhook gets with those that
// kube-apiserver sends at that moment.
func TestWhatAdmissionIsSent(t *testing.T) {
	srv, _ := startWith(t, server.Options{})
	c := kubernetes.NewForConfigOrDie(srv.RESTConfig())
	ctx := t.Context()
	eventuallyServiceAccount(t, c)
	var mu sync.Mutex
	var seen []string
	holdWrites(t, c, admissionregistrationv1.OperationAll, "*", []string{"configmaps", "pods/*", "pods", "roles", "serviceaccounts/*"}, func(r *admissionv1.AdmissionRequest) {
		mu.Lock()
		defer mu.Unlock()
		if r.Namespace == "default" && r.Name != "kube-root-ca.crt" {
			seen = append(seen, fmt.Sprintf("%s %s/%s object=%s options=%s", r.Operation, r.Resource.Resource, r.SubResource, r.Object.Raw, r.Options.Raw))
		}
	})
	expect := func(what string, parts ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		got := seen
		seen = nil
		switch {
		case len(parts) == 0 && len(got) > 0, len(parts) > 0 && len(got) != 1:
			t.Errorf("%s: admission got %q", what, got)
		}
		for _, part := range parts {
			if len(got) == 1 && !strings.Contains(got[0], part) {
				t.Errorf("%s: no %s in %s", what, part, got[0])
			}
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	body := []byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r"},"rules":[]}`)
	err := c.RbacV1().RESTClient().Post().Namespace("default").Resource("roles").SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	check(err)
	expect("an empty list", `"rules":[]`)
	role, err := c.RbacV1().Roles("default").Get(ctx, "r", metav1.GetOptions{})
	if check(err); role.Rules != nil {
		t.Errorf("the empty list is stored: %#v", role.Rules)
	}
	_, err = c.CoreV1().ServiceAccounts("default").CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	check(err)
	expect("a token request", `"audiences":["https://kubernetes.default.svc`, `"creationTimestamp":"2`, `"name":"default"`, `"uid":"`)

	made, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	check(err)
	expect("a create", `"uid":"`+string(made.UID))
	wrong := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("other"))}}
	if err := c.CoreV1().ConfigMaps("default").Delete(ctx, "c", wrong); !apierrors.IsConflict(err) {
		t.Errorf("wrong precondition: %v", err)
	}
	expect("a deletion whose precondition fails")

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "nowhere", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err = c.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	check(err)
	expect("a pod", "CREATE pods/ ")
	check(c.CoreV1().Pods("default").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}}))
	mu.Lock()
	if len(seen) == 0 || !strings.HasPrefix(seen[0], "CREATE pods/eviction") || strings.Contains(seen[0], "deleteOptions") {
		t.Errorf("an eviction without options: %q", seen)
	}
	seen = nil
	mu.Unlock()
	check(c.CoreV1().Pods("default").Delete(ctx, "p", metav1.DeleteOptions{}))
	expect("a deletion that is pending")
	pod.Name = "q"
	_, err = c.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	check(err)
	expect("a pod", "CREATE pods/ ")
	check(c.CoreV1().Pods("default").Delete(ctx, "q", metav1.DeleteOptions{}))
	expect("a deletion with a grace period", "DELETE pods/ ", `"gracePeriodSeconds":30`)
}

// eventuallyServiceAccount waits until the service account default exists.
func eventuallyServiceAccount(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	eventually(t, "the service account", func(ctx context.Context) (bool, error) {
		_, err := c.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}
