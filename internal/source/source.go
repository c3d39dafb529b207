// Package source reads the declarations of the API from the sources of its modules, in any of their
// versions. The commands beside it compare them.
package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Sort is a sort of declarations.
type Sort string

// The sorts of declarations, with the form of their names and their details. A PACKAGE is an import
// path.
const (
	// Kind is a type with TypeMeta and ObjectMeta: PACKAGE.TYPE. It has no detail.
	Kind Sort = "kind"
	// Type is PACKAGE.TYPE; the detail are its markers.
	Type Sort = "type"
	// Field is PACKAGE.TYPE.FIELD, with the name of the field in JSON; the detail are its Go type and its
	// markers.
	Field Sort = "field"
	// Constant is PACKAGE.NAME; the detail is TYPE "VALUE" for the value of an enum, and empty for others.
	// The type is not in the name, because constants have gained types.
	Constant Sort = "constant"
	// Lifecycle is PACKAGE.TYPE.METHOD, where the method is one of APILifecycleIntroduced and such; the
	// detail is what it returns.
	Lifecycle Sort = "lifecycle"
	// Gate is a feature gate that the modules define; the detail are its stages.
	Gate Sort = "gate"
)

// Name names a declaration.
type Name struct {
	Sort
	Text string
}

// Owner returns the name before the last dot: the type of a field, the package of a type.
func (n Name) Owner() string { return n.Text[:strings.LastIndexByte(n.Text, '.')] }

// Declarations are the details of declarations by name.
type Declarations map[Name]string

// roots are the modules with declarations, and the folders or files in them that have them.
var roots = []struct{ module, at string }{
	{"k8s.io/api", "."},
	{"k8s.io/apimachinery", "pkg/apis/meta/v1"},
	{"k8s.io/apiextensions-apiserver", "pkg/apis/apiextensions/v1"},
	{"k8s.io/kube-aggregator", "pkg/apis/apiregistration/v1"},
	{"k8s.io/apiserver", "pkg/features"},
	{"k8s.io/apiextensions-apiserver", "pkg/features"},
}

// Newest returns the version of k8s.io/api in go.mod, which is that of the other modules too.
func Newest(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/api").Output()
	return strings.TrimSpace(string(out)), err
}

// Read returns the declarations in a version of the modules, such as v0.37.2. It downloads the modules.
func Read(ctx context.Context, version string) (Declarations, error) {
	out := Declarations{}
	for _, root := range roots {
		dir, err := download(ctx, root.module+"@"+version)
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(filepath.Join(dir, root.at), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return err
			}
			relative, err := filepath.Rel(dir, filepath.Dir(file))
			if err != nil {
				return err
			}
			return out.add(path.Join(root.module, filepath.ToSlash(relative)), file)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func download(ctx context.Context, module string) (dir string, err error) {
	var found struct{ Dir, Error string }
	text, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", module).Output()
	if jsonErr := json.Unmarshal(text, &found); err == nil {
		err = jsonErr
	}
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w %s", module, err, found.Error)
	}
	return found.Dir, nil
}

// add adds the declarations in one file of a package.
func (d Declarations) add(pkg, file string) error {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	enums := map[string]bool{} // the types with the marker +enum
	for _, decl := range parsed.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			d.addLifecycle(pkg, decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					marked := slices.Concat(markers(detached(files, parsed, decl)), markers(decl.Doc), markers(t.Doc))
					d.addType(pkg+"."+t.Name.Name, t, marked)
					enums[t.Name.Name] = slices.Contains(marked, "+enum")
				}
			}
		}
	}
	for _, decl := range parsed.Decls {
		if group, ok := decl.(*ast.GenDecl); ok {
			d.addValues(pkg, enums, group)
		}
	}
	return nil
}

// detached returns the comment that a blank line separates from the comment of a declaration: the
// markers for generators of clients are there. It returns nil if there is none.
func detached(files *token.FileSet, f *ast.File, decl *ast.GenDecl) *ast.CommentGroup {
	start := decl.Pos()
	if decl.Doc != nil {
		start = decl.Doc.Pos()
	}
	line := files.Position(start).Line
	for _, c := range f.Comments {
		if files.Position(c.End()).Line == line-2 {
			return c
		}
	}
	return nil
}

// markers returns the lines of a comment that begin with a plus sign.
func markers(doc *ast.CommentGroup) (found []string) {
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		if text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//")); strings.HasPrefix(text, "+") {
			found = append(found, text)
		}
	}
	return found
}

func (d Declarations) addType(name string, t *ast.TypeSpec, marked []string) {
	s, isStruct := t.Type.(*ast.StructType)
	d[Name{Type, name}] = strings.Join(marked, " ")
	if !isStruct {
		return
	}
	embeds := func(name string) bool {
		return slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 && text(f.Type) == name })
	}
	if embeds("metav1.TypeMeta") && embeds("metav1.ObjectMeta") {
		d[Name{Kind, name}] = ""
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		if field, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); field != "" && field != "-" {
			d[Name{Field, name + "." + field}] = strings.Join(append([]string{text(f.Type)}, markers(f.Doc)...), " ")
		}
	}
}

// text returns the source of an expression, in one line.
func text(e ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// addValues adds the constants and the feature gates of a group of declarations.
func (d Declarations) addValues(pkg string, enums map[string]bool, group *ast.GenDecl) {
	for _, spec := range group.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, value := range v.Values {
			if gates, ok := value.(*ast.CompositeLit); ok && group.Tok == token.VAR {
				d.addGates(gates)
			}
			if group.Tok != token.CONST {
				continue
			}
			detail := ""
			t, typed := v.Type.(*ast.Ident)
			literal, ok := value.(*ast.BasicLit)
			if typed && ok && literal.Kind == token.STRING && enums[t.Name] {
				detail = pkg + "." + t.Name + " " + literal.Value
			}
			d[Name{Constant, pkg + "." + v.Names[i].Name}] = detail
		}
	}
}

// addGates adds the gates of a table of versioned specifications.
func (d Declarations) addGates(table *ast.CompositeLit) {
	if !strings.Contains(text(table.Type), "VersionedSpecs") {
		return
	}
	for _, e := range table.Elts {
		entry, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key := text(entry.Key)
		d[Name{Gate, key[strings.LastIndexByte(key, '.')+1:]}] = text(entry.Value)
	}
}

// addLifecycle adds a generated method about the releases of a kind.
func (d Declarations) addLifecycle(pkg string, f *ast.FuncDecl) {
	if f.Recv == nil || !strings.HasPrefix(f.Name.Name, "APILifecycle") || len(f.Body.List) != 1 {
		return
	}
	if r, ok := f.Body.List[0].(*ast.ReturnStmt); ok {
		var results []string
		for _, e := range r.Results {
			results = append(results, text(e))
		}
		receiver := strings.TrimPrefix(text(f.Recv.List[0].Type), "*")
		d[Name{Lifecycle, pkg + "." + receiver + "." + f.Name.Name}] = strings.Join(results, ", ")
	}
}
