package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/envtest"
)

// output runs a program and returns what it prints, without the end of the line.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(c.Args, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// TestSetupEnvtest checks that setup-envtest finds the programs that the command wrote, and takes
// archives of them.
func TestSetupEnvtest(t *testing.T) {
	binary, binDir := buildServer(t).binary, t.TempDir()
	written := output(t, binary, "envtest", "--bin-dir", binDir)
	found := output(t, "go", "tool", "setup-envtest", "use", "-i", "--bin-dir", binDir, "-p", "path", "1.37.x")
	if found != written {
		t.Errorf("setup-envtest finds %s, want %s", found, written)
	}

	var archive bytes.Buffer
	if err := envtest.WriteArchive(&archive, binary); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	t.Cleanup(func() { // setup-envtest makes the directory read-only
		_ = os.Chmod(envtest.Dir(other, "1.37.99", runtime.GOOS, runtime.GOARCH), 0o755)
	})
	sideload := exec.CommandContext(t.Context(), "go", "tool", "setup-envtest", "sideload", "--bin-dir", other, "-p", "path", "1.37.99")
	sideload.Stdin = &archive
	if out, err := sideload.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := output(t, "go", "tool", "setup-envtest", "use", "-i", "--bin-dir", other, "-p", "path", "1.37.99")
	if got := output(t, filepath.Join(dir, "kube-apiserver"), "--version"); !strings.HasPrefix(got, "Kubernetes v1.37.") {
		t.Errorf("kube-apiserver of the archive says %q", got)
	}
	if got := output(t, filepath.Join(dir, "etcd"), "--version"); !strings.HasPrefix(got, "etcd Version: 3.") {
		t.Errorf("etcd of the archive says %q", got)
	}
}
