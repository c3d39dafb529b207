package layering

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kindModel are the structs in which package api describes kinds.
var kindModel = []string{
	"Kind", "Names", "Storage", "Deletion", "Table", "Resource", "Custom", "Version",
	"WriteRules", "Write", "Attempt", "Field", "View", "Action", "Connection",
}

// TestCounts fails if what was reduced once grows again. A limit is the present count. Raise it
// only if a new field, walker or reader has as good a reason as those that exist.
func TestCounts(t *testing.T) {
	counts := map[string]int{}
	eachSource(t, func(path string, _ *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && filepath.Dir(path) == "api" && slices.Contains(kindModel, n.Name.Name) {
					counts["fields of the kind model"] += fieldsOf(s)
				}
			case *ast.SelectorExpr:
				if n.Sel.Name == "NumField" && filepath.Dir(path) != "internal/gotype" {
					counts["walkers of Go types besides internal/gotype"]++
				}
				if isSelector(n, "configfile", "Expect") || isSelector(n, "configfile", "Versions") {
					counts["readers of versioned configuration files"]++
				}
				if definesMetric(n) && filepath.Dir(path) != "internal/metricset" {
					counts["definitions of metrics besides internal/metricset"]++
				}
			}
			return true
		})
	})
	for what, limit := range map[string]int{
		"fields of the kind model":                    145,
		"walkers of Go types besides internal/gotype": 10,
		"readers of versioned configuration files":    8,
		// The version and the gates of the server, the handshakes, the former name of a histogram, and a summary.
		"definitions of metrics besides internal/metricset": 6,
	} {
		if counts[what] > limit {
			t.Errorf("%d %s, at most %d", counts[what], what, limit)
		}
	}
	t.Log(counts)
}

// definesMetric reports whether a function of package prometheus defines a metric.
func definesMetric(n *ast.SelectorExpr) bool {
	name, isNew := strings.CutPrefix(n.Sel.Name, "New")
	isMetric := name == "Desc"
	for _, kind := range []string{"Counter", "Gauge", "Histogram", "Summary"} {
		isMetric = isMetric || strings.HasPrefix(name, kind)
	}
	return isNew && isMetric && isSelector(n, "prometheus", n.Sel.Name)
}

// fieldsOf counts the fields of a struct; an embedded struct is one.
func fieldsOf(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}
