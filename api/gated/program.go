package gated

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// Program removes the fields of disabled gates from objects of one Go type. It is safe for
// concurrent use.
type Program struct {
	root *node
	// onlyCreate and onlyUpdate are the groups whose fields only such writes remove.
	onlyCreate, onlyUpdate groups
}

// groups is a set of groups of fields, as bits. The fields of a group are removed unless the stored
// object has a field that keeps the group.
type groups uint64

// node has the fields of a struct type that belong to groups, or that lead to such fields.
type node struct {
	steps []step
	// removeEmpty: a pointer to the struct becomes nil if the removal of fields empties it.
	removeEmpty bool
}

type step struct {
	index int // of the field in the Go type
	// removed are the groups with which the field is removed; kept are the groups that the field keeps.
	removed, kept groups
	// next is the node of the field's type, or of that of its elements, or nil.
	next *node
}

// Program compiles the table for a Go type, a pointer to a struct. It returns nil if nothing is to
// be removed from objects of the type.
func (t *Table) Program(object reflect.Type) (*Program, error) {
	c := compiler{table: t, root: gotype.Name(object.Elem()), numbers: map[string]int{}, kept: map[string]groups{},
		begun: map[reflect.Type]*node{}}
	c.findGroups(object.Elem(), "", map[reflect.Type]bool{})
	if len(c.numbers) == 0 {
		return nil, nil
	}
	if len(c.numbers) > 64 {
		return nil, fmt.Errorf("%v has %d groups of gated fields", object, len(c.numbers))
	}
	c.program.root = c.compile(object.Elem(), "")
	return &c.program, nil
}

type compiler struct {
	table *Table
	root  string
	// numbers are those of the groups, by their identity. kept are the groups that a field keeps
	// wherever it is.
	numbers map[string]int
	kept    map[string]groups
	program Program
	begun   map[reflect.Type]*node // recursive types lead to their own node
}

// findGroups finds the groups of the fields of a struct type at a path, which is empty for an
// object.
func (c *compiler) findGroups(t reflect.Type, path string, within map[reflect.Type]bool) {
	if within[t] {
		return
	}
	within[t] = true
	defer delete(within, t)
	for _, f := range gotype.Fields(t) {
		full, at := gotype.Name(t)+"."+f.Name, join(path, f.Name)
		if g, ok := c.disabled(full); ok {
			number := c.number(identity(g, at))
			for _, other := range g.used {
				c.kept[other] |= number
			}
			if g.onlyCreate {
				c.program.onlyCreate |= number
			}
			if g.onlyUpdate {
				c.program.onlyUpdate |= number
			}
		}
		if element := gotype.Element(f.Type); element.Kind() == reflect.Struct {
			c.findGroups(element, at, within)
		}
	}
}

// disabled returns the entry of a field that is to be removed from objects of the root.
func (c *compiler) disabled(name string) (guarded, bool) {
	g, ok := c.table.fields[name]
	return g, ok && (g.in == "" || g.in == c.root) && slices.ContainsFunc(g.gates, func(gate string) bool { return !c.table.enabled(gate) })
}

// identity returns what the fields of a group have in common.
func identity(g guarded, path string) string {
	switch {
	case g.alone:
		return path
	case g.used != nil:
		return strings.Join(g.used, ",")
	}
	part, _, _ := strings.Cut(path, ".")
	return part + " " + strings.Join(g.gates, ",")
}

func (c *compiler) number(identity string) groups {
	n, ok := c.numbers[identity]
	if !ok {
		n = len(c.numbers)
		c.numbers[identity] = n
	}
	return 1 << n
}

// compile returns the node of a struct type at a path, or nil if it has no steps.
func (c *compiler) compile(t reflect.Type, path string) *node {
	if n, ok := c.begun[t]; ok {
		return n
	}
	n := &node{}
	c.begun[t] = n
	defer delete(c.begun, t)
	for _, f := range gotype.Fields(t) {
		full, at := gotype.Name(t)+"."+f.Name, join(path, f.Name)
		s := step{index: f.Index[0], kept: c.kept[full]}
		if g, ok := c.disabled(full); ok {
			s.removed = c.number(identity(g, at))
			if g.used == nil {
				s.kept |= s.removed
			}
			n.removeEmpty = n.removeEmpty || g.emptied
		}
		if element := gotype.Element(f.Type); element.Kind() == reflect.Struct {
			s.next = c.compile(element, at)
		}
		if s.removed|s.kept != 0 || s.next != nil {
			n.steps = append(n.steps, s)
		}
	}
	if len(n.steps) == 0 {
		return nil
	}
	return n
}

// join returns the path of a field. An embedded struct has no name and no path of its own.
func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
