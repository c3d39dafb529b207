package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	controlplane "sigs.k8s.io/controller-runtime/pkg/envtest"

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

	// The archive has no release: the server finds it in the directory that setup-envtest makes.
	var archive bytes.Buffer
	if err := envtest.WriteArchive(&archive, binary, runtime.GOOS, ""); err != nil {
		t.Fatal(err)
	}
	for _, release := range []string{"1.37.99", "1.35.3"} {
		dir := sideload(t, archive.Bytes(), release)
		if got := output(t, filepath.Join(dir, "kube-apiserver"), "--version"); !strings.HasPrefix(got, "Kubernetes v"+release+"+") {
			t.Errorf("kube-apiserver of the archive as %s says %q", release, got)
		}
		if got := output(t, filepath.Join(dir, "etcd"), "--version"); !strings.HasPrefix(got, "etcd Version: 3.") {
			t.Errorf("etcd of the archive says %q", got)
		}
	}
}

// sideload gives an archive to setup-envtest as that of a release, and returns the directory in
// which setup-envtest finds it.
func sideload(t *testing.T, archive []byte, release string) string {
	t.Helper()
	binDir := t.TempDir()
	t.Cleanup(func() { // setup-envtest makes the directory read-only
		_ = os.Chmod(envtest.Dir(binDir, release, runtime.GOOS, runtime.GOARCH), 0o755)
	})
	c := exec.CommandContext(t.Context(), "go", "tool", "setup-envtest", "sideload", "--bin-dir", binDir, "-p", "path", release)
	c.Stdin = bytes.NewReader(archive)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return output(t, "go", "tool", "setup-envtest", "use", "-i", "--bin-dir", binDir, "-p", "path", release)
}

// TestEnvtestOfOlderRelease checks that a suite which asks setup-envtest for an older release gets a
// server of that release.
func TestEnvtestOfOlderRelease(t *testing.T) {
	binary, binDir := buildServer(t).binary, t.TempDir()
	for _, minor := range []string{"1.34", "1.35", "1.36"} {
		written := output(t, binary, "envtest", "--bin-dir", binDir, "--version", minor)
		if found := output(t, "go", "tool", "setup-envtest", "use", "-i", "--bin-dir", binDir, "-p", "path", minor+".x"); found != written {
			t.Errorf("setup-envtest finds %s, want %s", found, written)
		}
		t.Setenv("KUBEBUILDER_ASSETS", written)
		env := &controlplane.Environment{}
		config, err := env.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := env.Stop(); err != nil {
				t.Error(err)
			}
		})
		admin := kubernetes.NewForConfigOrDie(config)
		version, err := admin.Discovery().ServerVersion()
		if err != nil || version.Major+"."+version.Minor != minor || !strings.HasPrefix(version.GitVersion, "v"+minor+".0+") {
			t.Errorf("%s: version %v, %v", minor, version, err)
		}
		// The field is new in 1.37.
		pod := []byte(`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"evictionResponders":[{"name":"example.com/responder"}]}}`)
		err = admin.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Param("fieldValidation", "Strict").Body(pod).Do(t.Context()).Error()
		if err == nil || !strings.Contains(err.Error(), `unknown field "spec.evictionResponders"`) {
			t.Errorf("%s: a field of 1.37: %v", minor, err)
		}
	}
}
