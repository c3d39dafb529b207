package layering

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// TestWallClock checks that no source file turns the current time into a number: the wall clock
// may be set, and a deadline in that number is then hours away. Package monotonic has readings for
// it. Numbers of the times of objects and of log records are allowed in the files listed here.
func TestWallClock(t *testing.T) {
	formatting := []string{"cmd/miniapiserver/logging.go", "storage/encryption/metrics.go", "authn/externaljwt/metrics.go", "handlers/representation/table_row.go"}
	var found []string
	eachSource(t, func(path string, files *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isWallReading(call) {
				return true
			}
			if slices.Contains(formatting, path) {
				found = append(found, path)
				return true
			}
			t.Errorf("%s: a reading of the wall clock as a number", files.Position(n.Pos()))
			return true
		})
	})
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
