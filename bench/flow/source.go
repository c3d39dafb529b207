package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is the source code of this module with its types, of which each package is read when the first
// function in it, or the first import of it, needs it. Other packages have the types that the compiler wrote.
type source struct {
	root     string
	set      *token.FileSet
	listed   map[string]*listedPackage
	others   types.Importer
	packages map[string]*types.Package
	files    map[string]*ast.File // by their path below root
	info     types.Info
	// lists are the elements of the lists that are variables of packages, such as the steps of a write.
	lists map[types.Object][]ast.Expr
}

// listedPackage is a package in the output of "go list".
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// newSource returns the source code below root.
func newSource(ctx context.Context, root string) (*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-export", "-pgo=off", "-trimpath", "-json=ImportPath,Dir,Export,GoFiles", "./server")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	s := &source{
		root: root, set: token.NewFileSet(), listed: map[string]*listedPackage{}, packages: map[string]*types.Package{}, files: map[string]*ast.File{},
		info:  types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}},
		lists: map[types.Object][]ast.Expr{},
	}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listedPackage{}
		if err := packages.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		s.listed[p.ImportPath] = p
	}
	s.others = importer.ForCompiler(s.set, "gc", func(path string) (io.ReadCloser, error) {
		p := s.listed[path]
		if p == nil {
			return nil, fmt.Errorf("no package %s", path)
		}
		return os.Open(p.Export)
	})
	return s, nil
}

// Import implements types.Importer.
func (s *source) Import(path string) (*types.Package, error) {
	p := s.listed[path]
	if p == nil || !strings.HasPrefix(path, module) {
		return s.others.Import(path)
	}
	if pkg := s.packages[path]; pkg != nil {
		return pkg, nil
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		full := filepath.Join(p.Dir, name)
		file, err := parser.ParseFile(s.set, full, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		below, err := filepath.Rel(s.root, full)
		if err != nil {
			return nil, err
		}
		s.files[below] = file
	}
	config := types.Config{Importer: s}
	pkg, err := config.Check(path, s.set, files, &s.info)
	s.packages[path] = pkg
	for _, file := range files {
		s.findLists(file)
	}
	return pkg, err
}

// findLists finds the lists among the variables of a file.
func (s *source) findLists(file *ast.File) {
	for _, decl := range file.Decls {
		variables, ok := decl.(*ast.GenDecl)
		if !ok || variables.Tok != token.VAR {
			continue
		}
		for _, spec := range variables.Specs {
			v := spec.(*ast.ValueSpec)
			for i, value := range v.Values {
				if list, ok := value.(*ast.CompositeLit); ok && len(v.Values) == len(v.Names) {
					s.lists[s.info.Defs[v.Names[i]]] = list.Elts
				}
			}
		}
	}
}

// elements returns the elements of the list that an identifier names; nil if it names none.
func (s *source) elements(n ast.Expr) []ast.Expr {
	if id, ok := n.(*ast.Ident); ok {
		return s.lists[s.info.Uses[id]]
	}
	return nil
}

// declared is a function with its declaration.
type declared struct {
	function
	decl *ast.FuncDecl
	obj  *types.Func
}

// find returns the declaration of a function.
func (s *source) find(f function) (*declared, error) {
	if _, err := s.Import(module + filepath.Dir(f.file)); err != nil {
		return nil, err
	}
	file := s.files[f.file]
	if file == nil {
		return nil, fmt.Errorf("%s is in no package", f.file)
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && s.contains(fn, f.line) {
			obj, _ := s.info.Defs[fn.Name].(*types.Func)
			return &declared{function: f, decl: fn, obj: obj}, nil
		}
	}
	return nil, fmt.Errorf("%s:%d has no function", f.file, f.line)
}

func (s *source) contains(n ast.Node, line int) bool {
	return s.set.Position(n.Pos()).Line <= line && line <= s.set.Position(n.End()).Line
}

// used returns the function that an identifier or a selector names; nil if it names none.
func (s *source) used(n ast.Expr) *types.Func {
	var id *ast.Ident
	switch n := n.(type) {
	case *ast.Ident:
		id = n
	case *ast.SelectorExpr:
		id = n.Sel
	case *ast.IndexExpr: // of a generic function
		return s.used(n.X)
	default:
		return nil
	}
	f, _ := s.info.Uses[id].(*types.Func)
	if f != nil {
		f = f.Origin()
	}
	return f
}

// implements reports whether f is a method of a type that has the interface of the method of.
func implements(f, of *types.Func) bool {
	recv := f.Signature().Recv()
	i, ok := of.Signature().Recv().Type().Underlying().(*types.Interface)
	return ok && recv != nil && f.Name() == of.Name() && types.Implements(recv.Type(), i)
}

// isAbstract reports whether f is a method of an interface.
func isAbstract(f *types.Func) bool {
	recv := f.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}
