package servertest_test

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/servertest"
)

// TestExampleNew checks the example of docs/testing.md: a server for one test.
func TestExampleNew(t *testing.T) {
	s := servertest.New(t, server.Options{})
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}
	if _, err := s.Client.CoreV1().ConfigMaps("default").Create(t.Context(), greeting, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestExampleVersions checks the example of docs/testing.md: a test on several versions of Kubernetes.
func TestExampleVersions(t *testing.T) {
	for _, version := range []string{"1.34", "1.35", "1.36", "1.37"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := servertest.New(t, server.Options{Emulation: server.Emulation{Version: version, Faithful: true}})
			info, err := s.Client.Discovery().ServerVersion()
			if err != nil || info.Major+"."+info.Minor != version {
				t.Fatal(info, err)
			}
		})
	}
}

var shared servertest.Shared

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// TestExampleShared checks the example of docs/testing.md: a namespace of a shared server.
func TestExampleShared(t *testing.T) {
	t.Parallel()
	s := shared.Get(t)
	namespace := s.Namespace(t)
	greeting := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}
	if _, err := s.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(), greeting, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
