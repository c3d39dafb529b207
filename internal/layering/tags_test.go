package layering

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// tagReaders are the files that may read the tags of struct fields, and why.
var tagReaders = map[string]string{
	"internal/gotype/fields.go":                            "describes Go types for all other packages",
	"internal/source/source.go":                            "reads source text, for generated tables",
	"api/validation/declarative/internal/markers/parse.go": "reads source text, for generated tables",
}

// TestTags checks that package gotype alone reads the tags of Go types, so that there is one answer to the
// names of fields and to what JSON omits.
func TestTags(t *testing.T) {
	var found []string
	eachSource(t, func(path string, files *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if !readsTag(n) {
				return true
			}
			if found = append(found, path); tagReaders[path] == "" {
				t.Errorf("%s: a tag is read here; use internal/gotype", files.Position(n.Pos()))
			}
			return true
		})
	})
	for path := range tagReaders {
		if !slices.Contains(found, path) {
			t.Errorf("%s is listed without a reason", path)
		}
	}
}

// readsTag reports whether a node reads the field Tag of a reflect.StructField, or converts a text to a
// reflect.StructTag.
func readsTag(n ast.Node) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if isSelector(s, "reflect", "StructTag") {
		return true
	}
	tag, ok := s.X.(*ast.SelectorExpr)
	return ok && tag.Sel.Name == "Tag" && (s.Sel.Name == "Get" || s.Sel.Name == "Lookup")
}
