package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// eachSource calls visit with every source file of the server that is no test, and its path from the
// top of the tree, with slashes.
func eachSource(t *testing.T, visit func(path string, files *token.FileSet, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			outside := path == filepath.Join(root, "conformance") || path == filepath.Join(root, "bench")
			if path != root && (outside || name == "testdata" || strings.HasPrefix(name, ".") || isModule(path)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(relative), files, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
