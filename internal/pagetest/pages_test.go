package pagetest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/porttest"
)

const root = "../.."

// programs saves the builds while a page is written.
var programs = flag.String("programs", "", "directory of a built miniapiserver and kubectl")

// notRun are the pages whose commands this test does not run, each with the reason.
var notRun = map[string]string{
	"docs/sandbox.md": "TestTour of the sandbox runs it",
}

// TestPages runs the commands of the pages with a real kubectl.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the server and kubectl")
	}
	pages := []string{"README.md", "CONTRIBUTING.md"}
	for _, dir := range []string{"docs", "docs/switching"} {
		docs, err := filepath.Glob(filepath.Join(root, dir, "*.md"))
		if err != nil || len(docs) == 0 {
			t.Fatal(docs, err)
		}
		for _, page := range docs {
			pages = append(pages, dir+"/"+filepath.Base(page))
		}
	}
	for name := range notRun {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	dir := *programs
	if dir == "" {
		dir = buildPrograms(t)
	}
	for _, name := range pages {
		if notRun[name] != "" {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			page, err := Parse(string(text))
			if err != nil {
				t.Fatalf("%s:%v", name, err)
			}
			t.Logf("%d commands, %d blocks do not run", len(page.Steps), page.Skipped)
			if err := newRunner(t, dir).Run(t.Context(), page); err != nil {
				t.Errorf("%s:%v", name, err)
			}
		})
	}
}

// TestLessons runs the commands of the lessons, each with a server of its own. The sandbox runs them as well.
func TestLessons(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the server and kubectl")
	}
	dir := *programs
	if dir == "" {
		dir = buildPrograms(t)
	}
	for _, name := range Lessons(t, root) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			t.Parallel()
			page := ReadLesson(t, name)
			page.Steps = append([]Step{{Command: InstallLab}, {Command: "miniapiserver --ephemeral --lab"}}, page.Steps...)
			if err := newRunner(t, dir).Run(t.Context(), page); err != nil {
				t.Errorf("%s:%v", name, err)
			}
		})
	}
}

// newRunner returns a runner with directories of its own.
func newRunner(t *testing.T, dir string) *Runner {
	t.Helper()
	home := t.TempDir()
	r := &Runner{Dir: t.TempDir(), Home: home, Port: porttest.Free(t)}
	r.Environment = []string{"HOME=" + home, "PATH=" + dir + ":" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(),
		"USER=" + os.Getenv("USER"), "LANG=C.UTF-8",
		// The caches of Go stay where they are, although the commands have another home.
		"GOCACHE=" + goEnv(t, "GOCACHE"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"),
		"GOFLAGS=" + os.Getenv("GOFLAGS"), "CGO_ENABLED=" + goEnv(t, "CGO_ENABLED"), "GOPROXY=off"}
	return r
}

// buildPrograms builds the server and kubectl and returns their directory.
func buildPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := func(module string, args ...string) {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir = filepath.Join(root, module)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	build("", "build", "-pgo=off", "-o", filepath.Join(dir, "miniapiserver"), "./cmd/miniapiserver")
	// The test binary of this module is kubectl if it is called so.
	build("conformance/kubectl", "test", "-c", "-o", filepath.Join(dir, "kubectl"), ".")
	return dir
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
