package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/types"
	"os"
	"slices"
	"strings"
)

// order sorts functions by their first call, as far as the source shows it. A call of an interface's method
// is one of all methods of the path that implement it. Where a function calls the next one of the stack
// through a value, the stack shows which one.
type order struct {
	source  *source
	all     []*declared
	byFunc  map[*types.Func]*declared
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

// stays returns how often the walk enters a file.
func (w *walk) stays() int {
	n, current := 0, ""
	for _, d := range w.ordered {
		if d.file != current {
			n++
		}
		current = d.file
	}
	return n
}

// inOrder returns the walk along a path.
func inOrder(s *source, p *path) (*walk, error) {
	o := &order{source: s, byFunc: map[*types.Func]*declared{}, visited: map[function]bool{}}
	w := &walk{path: p}
	for _, f := range p.functions {
		d, err := s.find(f)
		if err != nil {
			return nil, err
		}
		o.all = append(o.all, d)
		o.byFunc[d.obj] = d
	}
	for _, f := range p.stack {
		for _, d := range o.all {
			if d.file == f.file && s.contains(d.decl, f.line) && !slices.Contains(o.stack, d) {
				o.stack = append(o.stack, d)
			}
		}
	}
	for _, d := range o.stack {
		o.visit(d)
	}
	for _, d := range o.all {
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
			for _, element := range o.source.elements(arg) {
				o.visitFunction(d, next, element)
			}
		}
		o.visitFunction(d, next, call.Fun)
		return false
	})
}

// visitFunction visits the functions that an expression in d can mean. A function of the stack is called
// only by the one above it.
func (o *order) visitFunction(d, next *declared, n ast.Expr) {
	if id, ok := n.(*ast.Ident); ok && id.Name == "next" && next != nil { // how a step of the chain calls the next one
		o.visit(next)
	}
	f := o.source.used(n)
	switch {
	case f == nil:
	case isAbstract(f):
		for _, c := range o.all {
			if implements(c.obj, f) && (c == next || !slices.Contains(o.stack, c)) {
				o.visit(c)
			}
		}
	case o.byFunc[f] != nil:
		o.visit(o.byFunc[f])
	}
}

const pageHead = `# The way of a request

Which functions of this project run for a request. The page is written by ` + "`make flow-docs`" + `, from a server that is built with
coverage counters.

A function is counted if it runs each time that the request is sent to a server at rest, in whichever goroutine: a write
includes what the store's watch does with the event. A stay is a run of functions in one file, in the order of the first
calls: a reader opens a file so often. ` + "`make flow`" + ` fails if there are more than the limit. Returns to files that the reader has
left are not counted alone, because a folder with a file for each function would have none. A frame is a call between the
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
