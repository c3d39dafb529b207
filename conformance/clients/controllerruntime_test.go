//go:build controllerruntime

package clients

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
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
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "download", "-json", controllerRuntime)), &module); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil { // the cache of modules cannot be written
		t.Fatal(err)
	}
	assets := output(t, buildServer(t).binary, "envtest", "--bin-dir", t.TempDir())
	c := exec.CommandContext(t.Context(), "go", append([]string{"test", "-count=1", "-p=1", "-skip", needsDownload}, envtestPackages(t, dir)...)...)
	c.Dir, c.Env = dir, append(os.Environ(), "KUBEBUILDER_ASSETS="+assets)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if result := lines.Text(); strings.HasPrefix(result, "ok ") || strings.Contains(result, "FAIL") {
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
