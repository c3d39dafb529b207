package layering

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolders checks that no folder has more source files than a reader can survey. A folder at the
// limit is due for a package of its own for some of its files.
func TestFolders(t *testing.T) {
	const most = 42
	root := filepath.Join("..", "..")
	files := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (name == "testdata" || strings.HasPrefix(name, ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files[filepath.Dir(path)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d folders have source files", len(files))
	}
	for folder, n := range files {
		if n > most {
			t.Errorf("%s has %d source files, more than %d", folder, n, most)
		}
	}
}
