package layering

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackages bounds the packages outside the standard library that "make run" compiles: the first
// build of a clone waits for them. docs/decisions/0026-build-time.md says what they are for. A change
// that needs more says there why they are worth the wait.
func TestPackages(t *testing.T) {
	const most = 774
	root := filepath.Join("..", "..")
	// The result of a test is cached until files that it read itself change. The imports are read by
	// list, the versions here.
	if _, err := list(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./cmd/miniapiserver")
	c.Dir, c.Env = root, append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	n := len(strings.Fields(string(out)))
	if t.Logf("%d packages", n); n > most || n < most-20 {
		t.Errorf("the server has %d packages besides the standard library, want at most %d, and most is at most 20 above that", n, most)
	}
}
