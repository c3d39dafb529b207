package server

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestTryOfServerWithoutLab checks that a server needs no lab for a try, and that the error of a program comes with its changes.
func TestTryOfServerWithoutLab(t *testing.T) {
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, s)
	failed := errors.New("half done")
	d, err := s.Try(t.Context(), func(ctx context.Context, config *rest.Config) error {
		createConfigMap(t, kubernetes.NewForConfigOrDie(config), "tried")
		_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("none").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("a namespace that does not exist: %v", err)
		}
		return failed
	})
	if !errors.Is(err, failed) || d == nil || len(d.Objects) != 1 || d.Objects[0].Key() != "configmaps/default/tried" || len(d.Refusals) != 1 {
		t.Errorf("%v, %+v", err, d)
	}
	if has(t, kubernetes.NewForConfigOrDie(s.RESTConfig()), "tried") {
		t.Error("the try changed the server")
	}
}
