package crds

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// downloaded returns the directories of modules by module path: of the given ones, or of all in the
// go.mod of a directory, in the versions of that go.mod.
func downloaded(t *testing.T, at string, modules ...string) map[string]string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", append([]string{"mod", "download", "-json"}, modules...)...)
	c.Dir = at
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go mod download: %v\n%s%s", err, out, &said)
	}
	dirs := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return dirs
		case err != nil:
			t.Fatalf("go mod download: %v\n%s", err, out)
		}
		dirs[m.Path] = m.Dir
	}
}

// generated returns a directory with the definitions generated from the Go types in packages.
func generated(t *testing.T, packages []string) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), "go", "tool", "controller-gen", "crd", "output:crd:dir="+dir)
	for _, p := range packages {
		c.Args = append(c.Args, "paths="+p)
	}
	c.Dir = "generated"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return dir
}

// files returns the files of a module that match the patterns; each pattern must match at least one
// file.
func files(t *testing.T, dir string, patterns []string) []string {
	t.Helper()
	var all []string
	for _, p := range patterns {
		list, at := filepath.Glob, filepath.Join(dir, filepath.FromSlash(p))
		if root, ok := strings.CutSuffix(at, "..."); ok {
			list, at = below, root
		}
		found, err := list(at)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no file matches %s (%v)", dir, p, err)
		}
		all = append(all, found...)
	}
	return all
}

// below returns the YAML files in a directory tree.
func below(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(path) == ".yaml" {
			found = append(found, path)
		}
		return err
	})
	return found, err
}
