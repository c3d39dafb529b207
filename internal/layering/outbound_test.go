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

// TestOutbound checks that only package outbound creates HTTP clients and transports, so
// that all of them have its limits and follow no redirects. The default client follows
// redirects, by which another server can direct requests, with their credentials, to
// addresses of its choice.
func TestOutbound(t *testing.T) {
	root := filepath.Join("..", "..")
	made := 0
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
		ast.Inspect(file, func(n ast.Node) bool {
			use, ok := ownConnection(n)
			if !ok {
				return true
			}
			if filepath.Base(filepath.Dir(path)) == "outbound" {
				made++
				return true
			}
			t.Errorf("%s: http.%s instead of package outbound", files.Position(n.Pos()), use)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if made != 2 {
		t.Errorf("package outbound makes %d clients and transports, want one of each", made)
	}
}

// ownConnection returns the name in package http by which an expression creates a client or
// a transport, or uses the default ones.
func ownConnection(n ast.Node) (name string, ok bool) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		for _, name := range []string{"Client", "Transport"} {
			if isSelector(n.Type, "http", name) {
				return name, true
			}
		}
	case *ast.SelectorExpr:
		for _, name := range []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"} {
			if isSelector(n, "http", name) {
				return name, true
			}
		}
	}
	return "", false
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && s.Sel.Name == name
}
