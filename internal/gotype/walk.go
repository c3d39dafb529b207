package gotype

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Walk visits values in objects of one Go type. It is safe for concurrent use. S is the type of the
// state that the actions of one visit share, such as the errors found.
type Walk[S any] struct {
	root     *node[S]
	visitors sync.Pool
}

// Rules say which values a walk visits. They are asked when the walk is compiled.
type Rules[S any] struct {
	// Type returns the action for values of a type, or nil. isLeaf ends the walk there: values inside
	// are not visited. It may be nil.
	Type func(t reflect.Type) (do Action[S], isLeaf bool)
	// Field returns the action for a field of the struct type owner; nil leaves the decision to the
	// field's type. Values inside such a field are not visited. It may be nil.
	Field func(owner reflect.Type, f *Field) Action[S]
}

// Action handles a value, which is settable, and reports whether it has changed the value. Values in
// maps are copies; a changed copy replaces the value.
type Action[S any] func(to *Visitor[S], v reflect.Value) (changed bool)

// Visitor is one visit to an object.
type Visitor[S any] struct {
	State S
	Location
}

// node has the actions for the values of one type and for the values inside them.
type node[S any] struct {
	kind   reflect.Kind
	do     Action[S]
	fields []fieldNode[S] // of a struct
	below  *node[S]       // of a pointer, list or map
	// isNeeded reports that there is an action for the values, or for values inside them.
	isNeeded bool
}

// fieldNode is a field of a struct with an action of its own, or with the node of its type.
type fieldNode[S any] struct {
	index int
	name  string
	do    Action[S]
	below *node[S]
}

// Compile returns the walk over objects of a Go type. It returns nil if there is nothing to visit.
func Compile[S any](t reflect.Type, rules Rules[S]) *Walk[S] {
	c := compiler[S]{rules: rules, nodes: map[reflect.Type]*node[S]{}}
	root := c.node(t)
	c.prune()
	if !root.isNeeded {
		return nil
	}
	w := &Walk[S]{root: root}
	w.visitors.New = func() any { return new(Visitor[S]) }
	return w
}

type compiler[S any] struct {
	rules Rules[S]
	nodes map[reflect.Type]*node[S] // each is there before its fields, since types can be recursive
}

func (c *compiler[S]) node(t reflect.Type) *node[S] {
	if n, ok := c.nodes[t]; ok {
		return n
	}
	n := &node[S]{kind: t.Kind()}
	c.nodes[t] = n
	if c.rules.Type != nil {
		isLeaf := false
		if n.do, isLeaf = c.rules.Type(t); isLeaf {
			n.kind = reflect.Invalid // which has nothing inside
			return n
		}
	}
	switch n.kind {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		n.below = c.node(t.Elem())
	case reflect.Struct:
		fields := Fields(t)
		for i := range fields {
			f := fieldNode[S]{index: fields[i].Index[0], name: fields[i].Name}
			if c.rules.Field != nil {
				f.do = c.rules.Field(t, &fields[i])
			}
			if f.do == nil {
				f.below = c.node(fields[i].Type)
			}
			n.fields = append(n.fields, f)
		}
	}
	return n
}

// prune finds the needed nodes, and removes all ways to others. A recursive type can need several rounds.
func (c *compiler[S]) prune() {
	for isChanged := true; isChanged; {
		isChanged = false
		for _, n := range c.nodes {
			if !n.isNeeded && n.needs() {
				n.isNeeded, isChanged = true, true
			}
		}
	}
	for _, n := range c.nodes {
		if n.below != nil && !n.below.isNeeded {
			n.below = nil
		}
		var needed []fieldNode[S]
		for _, f := range n.fields {
			if f.isNeeded() {
				needed = append(needed, f)
			}
		}
		n.fields = needed
	}
}

func (n *node[S]) needs() bool {
	if n.do != nil || n.below != nil && n.below.isNeeded {
		return true
	}
	for i := range n.fields {
		if n.fields[i].isNeeded() {
			return true
		}
	}
	return false
}

func (f *fieldNode[S]) isNeeded() bool { return f.do != nil || f.below.isNeeded }

// Visit visits an object, which is a settable value of the type of the walk, and returns the state that
// the actions leave. A nil Walk visits nothing.
func (w *Walk[S]) Visit(v reflect.Value, state S) S {
	if w == nil {
		return state
	}
	to := w.visitors.Get().(*Visitor[S])
	to.State = state
	to.visit(w.root, v)
	state = to.State
	var none S
	to.State = none
	w.visitors.Put(to)
	return state
}

// visit visits a value and the values inside, and reports whether one of them was changed.
func (to *Visitor[S]) visit(n *node[S], v reflect.Value) (changed bool) {
	if n.do != nil {
		changed = n.do(to, v)
	}
	switch n.kind {
	case reflect.Struct:
		for i := range n.fields {
			changed = to.visitField(&n.fields[i], v) || changed
		}
	case reflect.Pointer:
		if n.below != nil && !v.IsNil() {
			changed = to.visit(n.below, v.Elem()) || changed
		}
	case reflect.Slice, reflect.Array:
		if n.below == nil {
			break
		}
		for i := range v.Len() {
			to.Index(i)
			changed = to.visit(n.below, v.Index(i)) || changed
			to.Leave()
		}
	case reflect.Map:
		changed = n.below != nil && to.visitMap(n.below, v) || changed
	}
	return changed
}

func (to *Visitor[S]) visitField(f *fieldNode[S], v reflect.Value) (changed bool) {
	if f.name != "" {
		to.Field(f.name)
	}
	if v = v.Field(f.index); f.do != nil {
		changed = f.do(to, v)
	} else {
		changed = to.visit(f.below, v)
	}
	if f.name != "" {
		to.Leave()
	}
	return changed
}

func (to *Visitor[S]) visitMap(below *node[S], v reflect.Value) (changed bool) {
	for it := v.MapRange(); it.Next(); {
		value := Addressable(it.Value())
		to.Key(it.Key().String())
		if to.visit(below, value) {
			v.SetMapIndex(it.Key(), value)
			changed = true
		}
		to.Leave()
	}
	return changed
}

// Location is the path of the current value of a walk, as a stack. The zero value is the path of an
// object. It is cheap to keep: it becomes a field.Path only for an error.
type Location struct{ steps []step }

// step is one element of a path: a field, an index or a key.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	fieldStep stepKind = iota
	indexStep
	keyStep
)

// Field enters a field with a JSON name.
func (l *Location) Field(name string) { l.steps = append(l.steps, step{name: name}) }

// Index enters an element of a list.
func (l *Location) Index(i int) { l.steps = append(l.steps, step{index: i, kind: indexStep}) }

// Key enters a value of a map.
func (l *Location) Key(key string) { l.steps = append(l.steps, step{name: key, kind: keyStep}) }

// Leave leaves what was entered last.
func (l *Location) Leave() { l.steps = l.steps[:len(l.steps)-1] }

// Depth returns the number of JSON objects and arrays around the current value.
func (l *Location) Depth() int { return len(l.steps) }

// Path returns the path; it is nil for the object itself.
func (l *Location) Path() *field.Path {
	var p *field.Path
	for _, s := range l.steps {
		switch s.kind {
		case fieldStep:
			p = p.Child(s.name)
		case indexStep:
			p = p.Index(s.index)
		case keyStep:
			p = p.Key(s.name)
		}
	}
	return p
}

// Names returns the names of the fields in the path, joined by dots, without indexes and keys.
func (l *Location) Names() string {
	var names []string
	for _, s := range l.steps {
		if s.kind == fieldStep {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ".")
}
