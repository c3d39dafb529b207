package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/storage"
)

// TestSnapshotsOfOneServer saves backups of a server to one file, two at a time, while a client writes. A
// backup that was reported as saved can be restored, whatever the other save is doing.
func TestSnapshotsOfOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := startServer(t, server.Options{Dir: dir})
	client, err := kubernetes.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	backups := t.TempDir()
	file := filepath.Join(backups, "backup.db")
	etcd := storage.Options{Dir: filepath.Join(dir, "etcd")}
	for round := range endRounds() / 2 {
		if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", round)}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				if _, err := storage.SaveSnapshot(t.Context(), etcd, file); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				restored := filepath.Join(backups, fmt.Sprint("restored", i))
				if err := storage.RestoreSnapshot(file, restored, nil); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if err := os.RemoveAll(restored); err != nil {
					t.Error(err)
				}
			})
		}
		if wg.Wait(); t.Failed() {
			return
		}
	}
	left, err := os.ReadDir(backups)
	if err != nil || len(left) != 1 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}
