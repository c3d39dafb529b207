package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestAdmissionOptions checks that plugins are enabled and disabled, and read their part of
// the configuration file.
func TestAdmissionOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admission.yaml")
	const text = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: baseline}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	seconds := int64(7)
	s, err := Start(t.Context(), Options{Admission: Admission{ConfigFile: file, NotReadyTolerationSeconds: &seconds,
		EnablePlugins: []string{"AlwaysPullImages"}, DisablePlugins: []string{"Priority"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	pods := kubernetes.NewForConfigOrDie(s.RESTConfig()).CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image:1"}}}}
	got, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.Priority != nil || got.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways || *got.Spec.Tolerations[0].TolerationSeconds != seconds {
		t.Errorf("%+v", got.Spec)
	}
	pod.Name, pod.Spec.HostPID = "q", true
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), `violates PodSecurity "baseline:latest"`) {
		t.Errorf("a pod in its host's namespace: %v", err)
	}
	for _, o := range []Options{
		{Admission: Admission{EnablePlugins: []string{"Nonsense"}}},
		{Admission: Admission{ConfigFile: filepath.Join(t.TempDir(), "missing")}},
	} {
		if s, err := Start(t.Context(), o); err == nil {
			t.Errorf("%+v: starts", o)
			_ = s.Stop(context.WithoutCancel(t.Context()))
		}
	}
}
