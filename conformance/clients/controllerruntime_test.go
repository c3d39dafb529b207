//go:build controllerruntime

package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// controllerRuntime is the release whose tests run; the newest at the time of writing.
const controllerRuntime = "sigs.k8s.io/controller-runtime@v0.25.2"

// needsDownload are the tests that download a kube-apiserver of 2023.
const needsDownload = "./aggregatedDiscovery=false"

var usesEnvtest = regexp.MustCompile(`envtest\.Environment\{`)

// TestControllerRuntime runs the tests of controller-runtime that use envtest, unchanged, on the
// programs that "miniapiserver envtest" writes. make test-controller-runtime alone runs it,
// because it compiles another release of Kubernetes' modules.
func TestControllerRuntime(t *testing.T) {
	dir := copiedSuites(t)
	runProgram(t, dir, "go", append([]string{"test", "-count=1", "-p=1", "-skip", needsDownload}, envtestPackages(t, dir)...)...)
}

// TestControllerRuntimeRewound runs the suite of controller-runtime's client, which cleans up after each of its specs, as it is and
// with a rewind of the lab in place of the clean-up.
func TestControllerRuntimeRewound(t *testing.T) {
	t.Setenv("MINIAPISERVER_LAB", "1")
	dir := copiedSuites(t)
	const suite = "pkg/client/"
	run := func() time.Duration {
		binary := filepath.Join(t.TempDir(), "suite")
		runProgram(t, dir, "go", "test", "-c", "-o", binary, "./"+suite)
		start := time.Now()
		runProgram(t, filepath.Join(dir, suite), binary)
		return time.Since(start)
	}
	before := run()
	files, err := filepath.Glob(filepath.Join(dir, suite, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	cleanUps := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(source, []byte("AfterEach("))
		if cleanUps += n; n == 0 {
			continue
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(source, []byte("AfterEach("), []byte("leftToRewind(")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if cleanUps == 0 {
		t.Fatal("the suite has no clean-up any more")
	}
	rewind, err := os.ReadFile("testdata/rewind.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, suite, "rewind_test.go"), rewind, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d functions that clean up: %v; with a rewind in their place: %v", cleanUps, before, run())
}

// copiedSuites returns a directory with the source of controller-runtime, since the cache of modules cannot be written, and has
// envtest find this server.
func copiedSuites(t *testing.T) string {
	t.Helper()
	t.Setenv("KUBEBUILDER_ASSETS", output(t, buildServer(t).binary, "envtest", "--bin-dir", t.TempDir()))
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "download", "-json", controllerRuntime)), &module); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runProgram runs a program that tests in a directory, and logs its results.
func runProgram(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir = dir
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if result := lines.Text(); strings.HasPrefix(result, "ok ") || strings.Contains(result, "FAIL") || strings.Contains(result, "[FAILED]") {
			t.Log(result)
		}
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// envtestPackages returns the packages in dir whose tests use envtest.
func envtestPackages(t *testing.T, dir string) []string {
	t.Helper()
	var packages []string
	list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}{{range .TestGoFiles}}\t{{.}}{{end}}{{range .XTestGoFiles}}\t{{.}}{{end}}", "./pkg/...")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for _, file := range fields[1:] {
			source, err := os.ReadFile(fields[0] + "/" + file)
			if err != nil {
				t.Fatal(err)
			}
			if usesEnvtest.Match(source) {
				packages = append(packages, fields[0])
				break
			}
		}
	}
	if len(packages) < 10 {
		t.Fatalf("only %d packages use envtest: %v", len(packages), packages)
	}
	return packages
}
