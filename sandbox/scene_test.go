package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/lab/remote"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestSnapshotScene checks that a sandbox starts with the objects of an etcd snapshot.
func TestSnapshotScene(t *testing.T) {
	origin, err := server.Start(t.Context(), server.Options{Lab: server.Lab{Enabled: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := origin.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	client := kubernetes.NewForConfigOrDie(origin.RESTConfig())
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "saved"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	admin, err := remote.New(origin.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	name, err := admin.CreateCheckpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "scene.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(admin.Snapshot(t.Context(), name, file), file.Close()); err != nil {
		t.Fatal(err)
	}
	s := Start(t, Options{Scene: file.Name()})
	if _, err := s.Client.CoreV1().Namespaces().Get(t.Context(), "saved", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
