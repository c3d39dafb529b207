package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is the source code of the functions of a path.
type source struct {
	root string
	set  *token.FileSet
	// files are the parsed files, by their path below root.
	files map[string]*ast.File
}

func newSource(root string) *source {
	return &source{root: root, set: token.NewFileSet(), files: map[string]*ast.File{}}
}

// declared is a function with its declaration.
type declared struct {
	function
	decl    *ast.FuncDecl
	imports map[string]bool // the names of the packages that its file imports
}

// pkg returns the folder of the function's package.
func (d *declared) pkg() string { return filepath.Dir(d.file) }

// find returns the declaration of a function.
func (s *source) find(f function) (*declared, error) {
	file := s.files[f.file]
	if file == nil {
		var err error
		if file, err = parser.ParseFile(s.set, filepath.Join(s.root, f.file), nil, parser.ParseComments); err != nil {
			return nil, err
		}
		s.files[f.file] = file
	}
	d := &declared{function: f, imports: map[string]bool{}}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := filepath.Base(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		d.imports[name] = true
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && s.contains(fn, f.line) {
			d.decl = fn
			return d, nil
		}
	}
	return nil, fmt.Errorf("%s:%d has no function", f.file, f.line)
}

func (s *source) contains(n ast.Node, line int) bool {
	return s.set.Position(n.Pos()).Line <= line && line <= s.set.Position(n.End()).Line
}

// order sorts functions by their first call, as far as the source shows it. Calls are resolved
// by name among the functions of the path. Where a function calls the next one of the stack
// through a value, the stack shows which one.
type order struct {
	source  *source
	byName  map[string][]*declared
	stack   []*declared
	visited map[function]bool
	out     []*declared
}

// walk is a path as a reader follows it.
type walk struct {
	*path
	// ordered are the functions in the order of their first call; rest are those for which the
	// source does not show it.
	ordered, rest []*declared
}

// returns returns how often the walk comes back to a file that it has left.
func (w *walk) returns() int {
	n, left, current := 0, map[string]bool{}, ""
	for _, d := range w.ordered {
		if d.file == current {
			continue
		}
		if left[d.file] {
			n++
		}
		left[current], current = true, d.file
	}
	return n
}

// inOrder returns the walk along a path.
func inOrder(s *source, p *path) (*walk, error) {
	o := &order{source: s, byName: map[string][]*declared{}, visited: map[function]bool{}}
	w := &walk{path: p}
	all := make([]*declared, len(p.functions))
	for i, f := range p.functions {
		d, err := s.find(f)
		if err != nil {
			return nil, err
		}
		all[i] = d
		o.byName[d.decl.Name.Name] = append(o.byName[d.decl.Name.Name], d)
	}
	for _, f := range p.stack {
		for _, d := range all {
			if d.file == f.file && s.contains(d.decl, f.line) && !slices.Contains(o.stack, d) {
				o.stack = append(o.stack, d)
			}
		}
	}
	for _, d := range o.stack {
		o.visit(d)
	}
	for _, d := range all {
		if !o.visited[d.function] {
			w.rest = append(w.rest, d)
		}
	}
	w.ordered = o.out
	return w, nil
}

// visit adds a function and the functions that it calls.
func (o *order) visit(d *declared) {
	if o.visited[d.function] {
		return
	}
	o.visited[d.function] = true
	o.out = append(o.out, d)
	var next *declared
	if i := slices.Index(o.stack, d); i >= 0 && i+1 < len(o.stack) {
		next = o.stack[i+1]
	}
	o.visitCalls(d, next, d.decl.Body)
	if next != nil {
		o.visit(next)
	}
}

// visitCalls visits the functions that are called in n, or passed to a call, with the
// arguments of a call before the called function.
func (o *order) visitCalls(d, next *declared, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			o.visitCalls(d, next, selector.X)
		} else {
			o.visitCalls(d, next, call.Fun)
		}
		for _, arg := range call.Args {
			o.visitCalls(d, next, arg)
			o.visitFunction(d, next, arg)
		}
		o.visitFunction(d, next, call.Fun)
		return false
	})
}

// visitFunction visits the functions that an expression in d can mean.
func (o *order) visitFunction(d, next *declared, n ast.Expr) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if id, ok := n.X.(*ast.Ident); ok && d.imports[id.Name] {
			o.visitNamed(n.Sel.Name, func(c *declared) bool { return c.decl.Recv == nil && filepath.Base(c.pkg()) == id.Name })
			return
		}
		o.visitMethod(d, next, n.Sel.Name)
	case *ast.Ident:
		if n.Name == "next" && next != nil { // how a step of the chain calls the next one
			o.visit(next)
		}
		o.visitNamed(n.Name, func(c *declared) bool { return c.decl.Recv == nil && c.pkg() == d.pkg() })
	}
}

// visitMethod visits the methods of a name to which d can refer: those of its own package, or
// else those of a package that its file imports, or else those of other packages, for an
// interface. A function of the stack is called only by the one above it.
func (o *order) visitMethod(d, next *declared, name string) {
	var own, imported, others []*declared
	for _, c := range o.byName[name] {
		switch {
		case c.decl.Recv == nil || slices.Contains(o.stack, c) && c != next:
		case c.pkg() == d.pkg():
			own = append(own, c)
		case d.imports[filepath.Base(c.pkg())]:
			imported = append(imported, c)
		case slices.Contains([]string{"Authorize", "Encoding", "ForPath", "Mutate"}, name):
			others = append(others, c)
		}
	}
	for _, candidates := range [][]*declared{own, imported, others} {
		if len(candidates) > 0 {
			for _, c := range candidates {
				o.visit(c)
			}
			return
		}
	}
}

func (o *order) visitNamed(name string, fits func(*declared) bool) {
	for _, c := range o.byName[name] {
		if fits(c) {
			o.visit(c)
		}
	}
}

const pageHead = `# The way of a request

Which functions of this project run for a request. The page is written by ` + "`make flow-docs`" + `, from a server that is built with
coverage counters.

A function is counted if it runs each time that the request is sent to a server at rest, in whichever goroutine: a write
includes what the store's watch does with the event. A return is a step to a file that the path has left before, in the order
of the first calls: what a reader of the calls pays for. ` + "`make flow`" + ` fails if there are more than the limit. A frame is a call between the
start of the request's goroutine, which belongs to net/http, and storage. Descriptions are the first sentences of the functions' comments.

`

const pageRest = `
## What the functions are

Most of the functions have a reason of their own and are short.

- The GET's user is in system:masters, whose requests are exempt. Even so, priority and fairness classifies the request, counts
  it and updates the histograms over time that kube-apiserver's metrics have, when it begins and when it ends. These are most of
  the functions in apf.
- Authentication tries its methods one after the other, and each is a function; so does authorization. A token without
  audiences goes through a function that looks for them in the context, which only a TokenReview sets.
- An apply computes the fields of the patch, merges, prunes and compares: the functions in ssa. The owners of the stored object
  are decoded, and brought into line with the schema, when their text is new to the server. An apply that sets the same fields
  as the previous one keeps their text; one that sets other fields also parses, prunes and encodes them, which the table shows.
  The patch is walked twice, by the library to validate it and by ssa to find its fields, because the messages are the library's.
- Each of the steps that ` + "`registry/update.go`" + ` lists is a function.
- Of the functions of storage, half put the event of the write into the cache, which another goroutine does.
- Without policies and webhooks, one function looks into the caches of each of the four kinds. While some exist, their plugins run.
- A Deployment is checked by the rules of its fields and of its pod template: its own functions are rules and defaults.
`

// writePage writes the page with the figures of all paths, and the functions of a GET
// and of an apply in their order.
func writePage(file string, walks map[string]*walk) error {
	var b strings.Builder
	b.WriteString(pageHead)
	fmt.Fprintf(&b, "| %s |\n%s|\n", strings.Join(columns, " | "), strings.Repeat("| --- ", len(columns)))
	for _, r := range requests() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r.row(walks[r.name]), " | "))
	}
	b.WriteString(pageRest)
	for _, name := range []string{"GET", "APPLY"} {
		w := walks[name]
		fmt.Fprintf(&b, "\n## %s\n\nThe functions of the %s of a ConfigMap are in these folders: %s. In the order of the first calls:\n\n", name, name, w.folders())
		writeFunctions(&b, w.ordered)
		if len(w.rest) > 0 {
			b.WriteString("\nThese run too, in goroutines that the server already has, or called through values:\n\n")
			writeFunctions(&b, w.rest)
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

func writeFunctions(b *strings.Builder, functions []*declared) {
	b.WriteString("| file | function | what it does |\n| --- | --- | --- |\n")
	var p doc.Package
	for _, d := range functions {
		text := strings.ReplaceAll(p.Synopsis(d.decl.Doc.Text()), "|", `\|`)
		fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", d.file, d.name, text)
	}
}
