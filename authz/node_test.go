package authz_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/server"
)

func start(t *testing.T, o server.Options) *kubernetes.Clientset {
	t.Helper()
	return kubernetes.NewForConfigOrDie(startWith(t, o))
}

// startWith starts a server and returns its client configuration.
func startWith(t *testing.T, o server.Options) *rest.Config {
	t.Helper()
	s, err := server.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s.RESTConfig()
}

// review creates a SubjectAccessReview for the request of a user, described by method and path.
func review(t *testing.T, c *kubernetes.Clientset, user, group, method, path string) authorizationv1.SubjectAccessReviewStatus {
	t.Helper()
	info := request.Parse(httptest.NewRequest(method, path, nil))
	spec := authorizationv1.SubjectAccessReviewSpec{User: user, Groups: []string{group, request.GroupAuthenticated}}
	if info.IsResource {
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: info.Verb, Group: info.Group, Version: info.Version,
			Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name}
		if info.FieldSelector != "" {
			spec.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{RawSelector: info.FieldSelector}
		}
	} else {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: info.Verb, Path: info.Path}
	}
	r, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

// TestNode checks which requests of a kubelet are authorized.
func TestNode(t *testing.T) {
	c := start(t, server.Options{})
	ctx := t.Context()
	name := "shared"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}, Spec: corev1.PodSpec{
		NodeName: "n1", ServiceAccountName: "default", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
		Containers: []corev1.Container{{Name: "c", Image: "i",
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"example.com/x": *resourceOf("1")}, Limits: corev1.ResourceList{"example.com/x": *resourceOf("1")}},
			EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "env"}}}},
			Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "key"}, Key: "k"}}}}}},
		Volumes: []corev1.Volume{
			{Name: "a", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "vol"}}},
			{Name: "b", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}},
		},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "named", ResourceClaimName: ptr.To("named")}, {Name: "template", ResourceClaimTemplateName: ptr.To("t")}}}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *resourceOf("1Gi")}}}}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: claim.Spec.AccessModes, Capacity: corev1.ResourceList{corev1.ResourceStorage: *resourceOf("1Gi")},
		ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: name},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h",
			NodeStageSecretRef: &corev1.SecretReference{Namespace: "storage", Name: "stage"}}}}}
	if _, err := c.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, _ = c.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{}) // the controller may have created it
	pod, err := c.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{
		{Name: "named", ResourceClaimName: ptr.To("claimed")}, {Name: "template", ResourceClaimName: ptr.To("generated")}}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "extended",
		RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: "example.com/x", RequestName: "r"}}}
	if _, err := c.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	const ns, none = "/api/v1/namespaces/default/", "no relationship found between node 'n1' and this object"
	for _, step := range []struct{ method, path, refused string }{
		{"GET", ns + "secrets/pull", ""},
		{"GET", ns + "secrets/key", ""},
		{"GET", ns + "secrets/vol", ""},
		{"GET", ns + "secrets?fieldSelector=metadata.name%3Dvol&watch=1", ""},
		{"GET", "/api/v1/namespaces/storage/secrets/stage", ""},
		{"GET", "/api/v1/namespaces/other/secrets/stage", none},
		{"GET", "/api/v1/namespaces/kube-system/secrets/vol", none},
		{"GET", ns + "secrets/other", none},
		{"GET", ns + "secrets", "No Object name found"},
		{"GET", "/api/v1/secrets", "can only read namespaced object of this type"},
		{"DELETE", ns + "secrets/vol", "can only read resources of this type"},
		{"GET", ns + "configmaps/env", ""},
		{"GET", ns + "configmaps/vol", none},
		{"GET", ns + "persistentvolumeclaims/shared", ""},
		{"PATCH", ns + "persistentvolumeclaims/shared/status", ""},
		{"GET", ns + "persistentvolumeclaims/shared/status", "can only get/update/patch this type"},
		{"GET", ns + "persistentvolumeclaims", "can only get individual resources of this type"},
		{"GET", "/api/v1/persistentvolumes/pv", ""},
		{"GET", "/api/v1/persistentvolumes/pw", none},
		{"POST", ns + "serviceaccounts/default/token", ""},
		{"POST", ns + "serviceaccounts/robot/token", none},
		{"POST", ns + "serviceaccounts/default/other", "can only create token subresource of serviceaccount"},
		{"GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/named", ""},
		{"GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/generated", ""},
		{"GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/extended", ""},
		{"GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/claimed", none},
		{"GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/other", none},
		{"GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/named/status", "cannot get subresource"},
		{"DELETE", ns + "serviceaccounts/default", "can only create tokens for individual service accounts"},
		{"GET", "/api/v1/nodes/n1", ""},
		{"PATCH", "/api/v1/nodes/n1/status", ""},
		{"GET", "/api/v1/nodes/n2", "node 'n1' cannot read 'n2', only its own Node object"},
		{"GET", "/api/v1/nodes", "node 'n1' cannot read all nodes, only its own Node object"},
		{"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&watch=1", ""},
		{"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", "can only list/watch pods with spec.nodeName field selector"},
		{"GET", "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1", "can only list/watch pods with spec.nodeName field selector"},
		{"GET", ns + "pods/p", ""},
		{"GET", ns + "pods/q", none},
		{"GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", ""},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2", "can only access node lease with the same name as the requesting node"},
		{"GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/n1", `can only access leases in the "kube-node-lease" system namespace`},
		{"GET", "/apis/storage.k8s.io/v1/csinodes/n1", ""},
		{"GET", "/apis/storage.k8s.io/v1/csinodes/n2", "can only access CSINode with the same name as the requesting node"},
		{"GET", "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Dn1", ""},
		{"GET", "/apis/resource.k8s.io/v1/resourceslices", "can only list/watch/deletecollection resourceslices with nodeName field selector"},
		{"GET", "/api/v1/services", ""},
		{"GET", "/apis/node.k8s.io/v1/runtimeclasses", ""},
	} {
		got := review(t, c, "system:node:n1", "system:nodes", step.method, step.path)
		if got.Allowed != (step.refused == "") || strings.TrimPrefix(got.Reason, "node: ") != step.refused {
			t.Errorf("%s %s: got %+v, want %q", step.method, step.path, got, step.refused)
		}
	}
	for _, user := range []struct{ name, group string }{{"system:node:n2", "system:nodes"}, {"system:node:n1", "nodes"}, {"n1", "system:nodes"}} {
		if got := review(t, c, user.name, user.group, "GET", ns+"secrets/vol"); got.Allowed {
			t.Errorf("%+v: %+v", user, got)
		}
	}
	if got := review(t, c, "system:node:n1", "system:nodes", "DELETE", "/apis/apps/v1/namespaces/default/deployments/d"); got.Allowed {
		t.Errorf("deployments: %+v", got)
	}
}

func resourceOf(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}
