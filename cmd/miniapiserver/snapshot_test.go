package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// startClient runs miniapiserver with a data directory, and returns a client.
func startClient(t *testing.T, dir string) (*process, *kubernetes.Clientset) {
	t.Helper()
	p, _ := start(t, "--data-dir", dir, "--secure-port", "0")
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return p, client
}

// snapshot runs a command line that starts with snapshot and returns its output.
func snapshot(t *testing.T, args ...string) (string, error) {
	t.Helper()
	p := command(t, append([]string{"snapshot"}, args...)...)
	out, err := p.Output()
	return string(out) + p.stderr.String(), err
}

// TestSnapshot saves a snapshot of a running server and restores it for another one.
func TestSnapshot(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup.db")
	p, client := startClient(t, dir)
	made, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if said, err := snapshot(t, "save", file, "--data-dir", dir); err != nil || !strings.HasPrefix(said, "Saved ") {
		t.Fatalf("%v: %s", err, said)
	}
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "x", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if said, err := snapshot(t, "restore", file, "--data-dir", dir); err == nil || !strings.Contains(said, "is in use by another server") {
		t.Errorf("restored beside a server: %v: %s", err, said)
	}
	if code := stop(t, p, syscall.SIGTERM); code != 0 {
		t.Fatalf("status %d: %s", code, p.stderr.String())
	}
	if said, err := snapshot(t, "save", file, "--data-dir", dir); err == nil || !strings.Contains(said, "no server runs in "+dir) {
		t.Errorf("saved without a server: %v: %s", err, said)
	}

	other := filepath.Join(t.TempDir(), "data")
	if said, err := snapshot(t, "restore", file, "--data-dir", other); err != nil || !strings.HasPrefix(said, "Restored ") {
		t.Fatalf("%v: %s", err, said)
	}
	if err := os.CopyFS(filepath.Join(other, "pki"), os.DirFS(filepath.Join(dir, "pki"))); err != nil {
		t.Fatal(err)
	}
	p, client = startClient(t, other)
	if got, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "x", metav1.GetOptions{}); err != nil || got.UID != made.UID || got.ResourceVersion != made.ResourceVersion {
		t.Errorf("restored %v, %v", got, err)
	}
	if code := stop(t, p, syscall.SIGTERM); code != 0 {
		t.Errorf("status %d: %s", code, p.stderr.String())
	}
}

// TestSnapshotErrors checks that an error is one line that says what is wrong.
func TestSnapshotErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for args, want := range map[string]string{
		"":              ": takes save, restore or status, and the name of a file (see --help)",
		"save":          " save: takes the name of a file (see --help)",
		"load " + file:  ": takes save, restore or status, and the name of a file (see --help)",
		"save a b":      " save: takes the name of a file (see --help)",
		"save --data x": " save: unknown flag: --data (see --help)",
		"restore " + file + " --data-dir " + t.TempDir(): " restore: " + file + ": no such file or directory",
		"restore x --etcd-servers http://127.0.0.1:1":    " restore: unknown flag: --etcd-servers (see --help)",
		"save x --etcd-servers http://127.0.0.1:1":       " save: etcd does not answer: ",
		"status " + file: " status: " + file + ": no such file or directory",
	} {
		var out, errs strings.Builder
		if status := runMiniapiserver(append([]string{"snapshot"}, strings.Fields(args)...), &out, &errs); status != 1 || out.Len() > 0 {
			t.Errorf("%s: exit status %d, output %q", args, status, out.String())
		}
		if got := errs.String(); !strings.HasPrefix(got, "miniapiserver snapshot"+want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
