package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWallClock checks that no source file turns the current time into a number: the wall clock
// may be set, and a deadline in that number is then hours away. Package monotonic has readings for
// it. Numbers of the times of objects and of log records are allowed in the files listed here.
func TestWallClock(t *testing.T) {
	formatting := []string{"cmd/miniapiserver/logging.go", "storage/encryption/metrics.go", "authn/externaljwt/metrics.go", "handlers/representation/table_row.go"}
	var found []string
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
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isWallReading(call) {
				return true
			}
			if relative = filepath.ToSlash(relative); slices.Contains(formatting, relative) {
				found = append(found, relative)
				return true
			}
			t.Errorf("%s: a reading of the wall clock as a number", files.Position(n.Pos()))
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range formatting {
		if !slices.Contains(found, file) {
			t.Errorf("%s is listed without a reason", file)
		}
	}
}

// isWallReading reports whether a call turns a time into nanoseconds, or the current time into
// another number.
func isWallReading(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch f.Sel.Name {
	case "UnixNano":
		return true
	case "Unix", "UnixMilli", "UnixMicro":
	default:
		return false
	}
	now := false
	ast.Inspect(f.X, func(n ast.Node) bool {
		if n, ok := n.(ast.Expr); ok && isSelector(n, "time", "Now") {
			now = true
		}
		return true
	})
	return now
}
