package layering

import (
	"go/ast"
	"go/token"
	"path"
	"testing"
)

// TestOutbound checks that only package outbound creates HTTP clients and transports, so
// that all of them have its limits and follow no redirects. The default client follows
// redirects, by which another server can direct requests, with their credentials, to
// addresses of its choice.
func TestOutbound(t *testing.T) {
	made := 0
	eachSource(t, func(name string, files *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			use, ok := ownConnection(n)
			if !ok {
				return true
			}
			if path.Base(path.Dir(name)) == "outbound" {
				made++
				return true
			}
			t.Errorf("%s: http.%s instead of package outbound", files.Position(n.Pos()), use)
			return true
		})
	})
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
