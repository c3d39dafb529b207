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

// Every http.Client of the server decides about redirects itself. The default is
// to follow them, which lets the other side choose what the server connects to,
// and with which credentials.
func TestClientsDecideAboutRedirects(t *testing.T) {
	root := filepath.Join("..", "..")
	clients := 0
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
			literal, ok := n.(*ast.CompositeLit)
			if !ok || !isSelector(literal.Type, "http", "Client") {
				return true
			}
			clients++
			for _, e := range literal.Elts {
				if field, ok := e.(*ast.KeyValueExpr); ok && field.Key.(*ast.Ident).Name == "CheckRedirect" {
					return true
				}
			}
			t.Errorf("%s: an http.Client without CheckRedirect", files.Position(literal.Pos()))
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if clients == 0 {
		t.Error("no http.Client was found")
	}
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && s.Sel.Name == name
}
