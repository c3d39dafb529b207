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

// ownDialers are the files that may dial without a guard of package outbound, and why.
var ownDialers = map[string]string{
	"authn/externaljwt/externaljwt.go": "the Unix socket of the signer",
	"storage/backup.go":                "the Unix socket of an embedded etcd",
	"storage/encryption/service.go":    "the Unix socket of a KMS plugin",
	"storage/probe.go":                 "the etcd in a flag",
}

// TestDialers checks that all other connections are restricted by a guard: a net.Dialer is an argument of
// Guard.Dialer, or in ownDialers.
func TestDialers(t *testing.T) {
	guarded := map[ast.Node]bool{}
	used := map[string]bool{}
	eachSource(t, func(name string, files *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Dialer" {
					for _, argument := range call.Args {
						guarded[argument] = true
					}
				}
			}
			if !isDialer(n) || guarded[n] || path.Base(path.Dir(name)) == "outbound" {
				return true
			}
			if used[name] = true; ownDialers[name] == "" {
				t.Errorf("%s: a dialer without a guard of package outbound", files.Position(n.Pos()))
			}
			return true
		})
	})
	for name := range ownDialers {
		if !used[name] {
			t.Errorf("%s does not dial", name)
		}
	}
}

// isDialer reports whether an expression or a declaration makes a net.Dialer, or dials.
func isDialer(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		return isSelector(n.Type, "net", "Dialer")
	case *ast.ValueSpec:
		return isSelector(n.Type, "net", "Dialer")
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "new" && len(n.Args) == 1 {
			return isSelector(n.Args[0], "net", "Dialer")
		}
		for _, name := range []string{"Dial", "DialTimeout", "DialTCP"} {
			if isSelector(n.Fun, "net", name) {
				return true
			}
		}
	}
	return false
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && s.Sel.Name == name
}
