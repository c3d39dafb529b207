package layering

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/miniapiserver/miniapiserver"

// TestImports checks the imports of this module against the policy.
func TestImports(t *testing.T) {
	rules, err := parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	imports, err := list(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(imports) < 10 {
		t.Errorf("only %d packages were found", len(imports))
	}
	for _, fault := range rules.check(imports) {
		t.Error(fault)
	}
}

// list returns the imports of every package of the module. It reads the files itself,
// because the go command caches the result of a test until the files that it read change.
func list(root string) (map[string][]string, error) {
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name := entry.Name()
		if path != root && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || isModule(path)) {
			return fs.SkipDir
		}
		p, err := build.ImportDir(path, 0)
		var none *build.NoGoError
		if errors.As(err, &none) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		inModule, err := filepath.Rel(root, path)
		imports[filepath.ToSlash(inModule)] = p.Imports
		return err
	})
	return imports, err
}

// isModule reports whether a directory is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// TestCheck checks the violations of a small policy.
func TestCheck(t *testing.T) {
	const policy = "NONE < a, b; a < c < d; b < d;\n# why\nx.io/y !< ALL but c;\n# why not\nx.io/y/z !< NONE;"
	rules, err := parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from, to string
		fault    string
	}{
		{"c", module + "/a", ""},
		{"d", module + "/a/sub", ""},
		{"d/sub", module + "/d", ""},
		{"a", "fmt", ""},
		{"a", module + "/c", "a imports c"},
		{"a", module + "/b", "a imports b"},
		{"c", module + "/b", "c imports b"},
		{"c", "x.io/y", ""},
		{"c/sub", "x.io/y/w", ""},
		{"a", "x.io/yes", ""},
		{"a", "x.io/y/z", ""},
		{"a", "x.io/y/w", "why"},
		{"d", "x.io/y", "why"},
		{"unknown", "fmt", "no place"},
		{"d", module + "/unknown", "no place"},
	} {
		got := strings.Join(rules.check(map[string][]string{tt.from: {tt.to}}), "; ")
		if (got == "") != (tt.fault == "") || !strings.Contains(got, tt.fault) {
			t.Errorf("%s imports %s: %q, want %q", tt.from, tt.to, got, tt.fault)
		}
	}
}

// TestParseFaults checks that invalid policies are refused.
func TestParseFaults(t *testing.T) {
	for _, text := range []string{"a", "a < ;", "a < b < a;", "x !< ALL;", "# why\nx !< a;", "a < b; # why\nx !< ALL but c;"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// TestPolicyOrder checks the packages below storage.
func TestPolicyOrder(t *testing.T) {
	rules, err := parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	if got := rules.below["storage"]; !slices.Contains(sorted(got), "proto") || got["registry"] {
		t.Errorf("below storage: %v", sorted(got))
	}
}
