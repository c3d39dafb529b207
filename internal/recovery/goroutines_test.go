package recovery

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// bare are the goroutines that begin without this package, by file and called function,
// each with the reason.
var bare = map[string]string{
	"cmd/miniapiserver/main.go untilSignal":            "waits for a signal",
	"cmd/miniapiserver/endwithparent.go w.parent.wait": "waits for the end of the parent process",
	"cmd/miniapiserver/main.go untilEnd":               "waits for the end of standard input",
	"lab/conversation/replay.go run":                   "a client that replays",
	"lab/conversation/timed.go s.sendTimed":            "a client that replays",
	"lab/conversation/timed.go s.timeline.await":       "a client that replays",
	"server/serve.go s.stopAfterFailure":               "the server has failed, and ends",
	"server/stop.go idle.CloseUntil":                   "closes connections that nobody uses",
	"server/stop.go server.Shutdown":                   "the server ends",
	"storage/etcdmain.go recover":                      "has a recover of its own, since etcd panics when it cannot start",
	"storage/embedded.go l.failed":                     "waits for two channels",
}

// TestGoroutines checks that every goroutine of the server begins with a function of this
// package, or is listed above.
func TestGoroutines(t *testing.T) {
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			switch {
			case name == "conformance", name == "bench", name == "internal/kmstest", name == "internal/otlptest", name == "internal/pagetest", name == "internal/signertest", entry.Name() == "testdata", strings.HasPrefix(entry.Name(), ".") && name != ".":
				return fs.SkipDir // no part of the server
			}
			return nil
		}
		if strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			body := started(n)
			if body == nil || guarded(body) {
				return true
			}
			for known := range bare {
				if in, what, _ := strings.Cut(known, " "); in == name && mentions(body, what) {
					used[known] = true
					return true
				}
			}
			t.Errorf("%s:%d: a panic in this goroutine ends the process", name, files.Position(n.Pos()).Line)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for known := range bare {
		if !used[known] {
			t.Errorf("%s: there is no such goroutine", known)
		}
	}
}

// started returns the code that a statement or call runs in a goroutine of its own; nil if
// it starts none.
func started(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.GoStmt:
		if f, ok := n.Call.Fun.(*ast.FuncLit); ok {
			return f
		}
		return n.Call
	case *ast.CallExpr:
		if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && len(n.Args) == 1 {
			return n.Args[0]
		}
	}
	return nil
}

// guarded reports whether a function begins with a call of this package, after declarations
// of variables.
func guarded(body ast.Node) bool {
	f, ok := body.(*ast.FuncLit)
	if !ok {
		return false
	}
	list := f.Body.List
	for len(list) > 0 {
		if _, ok := list[0].(*ast.DeclStmt); !ok {
			break
		}
		list = list[1:]
	}
	if len(list) == 0 {
		return false
	}
	var call ast.Expr
	switch s := list[0].(type) {
	case *ast.ExprStmt:
		call = s.X
	case *ast.AssignStmt:
		call = s.Rhs[0]
	case *ast.SendStmt:
		call = s.Value
	case *ast.DeferStmt:
		call = s.Call
	case *ast.IfStmt:
		if init, ok := s.Init.(*ast.AssignStmt); ok {
			call = init.Rhs[0]
		} else if cond, ok := s.Cond.(*ast.BinaryExpr); ok {
			call = cond.X
		}
	}
	c, ok := call.(*ast.CallExpr)
	return ok && strings.HasPrefix(text(c.Fun), "recovery.")
}

// mentions reports whether a name occurs in a piece of code.
func mentions(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && text(e) == name {
			found = true
		}
		return !found
	})
	return found
}

// text returns a name with its qualifiers.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return fmt.Sprint(text(e.X), ".", e.Sel.Name)
	}
	return ""
}
