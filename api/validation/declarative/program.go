package declarative

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// Program has the checks for objects of one Go type.
type Program struct {
	root *node
}

// node has the checks for the values of a type.
type node struct {
	// own are the rules of the type. They come before those of the fields.
	own    []check
	fields []fieldNode
}

// fieldNode has the checks for a field of a struct.
type fieldNode struct {
	index []int
	// name is the name in paths; it is empty for an inlined struct.
	name string
	// groups are rules that are checked together: a short-circuit rule ends those of its group.
	// The first group is that of the field, whose short-circuit rules also end the checks of the
	// value.
	groups []group
	// items says how the elements of a list correspond to those of the stored list.
	items correspondence
	// value are the checks of the value, or of the elements of a list or map, and key of the keys.
	value, key *node
	kind       reflect.Kind
	// isCompared means that the field is compared with the stored one. For a struct without rules of
	// its own, the comparison of its fields has the same effect.
	isCompared bool
}

// group is a list of rules of one value.
type group struct {
	circuit []check
	rest    []check
}

// check is a compiled rule.
type check struct {
	// holds reports whether the value satisfies the rule, and records an error if not.
	holds func(w *walk, v, old reflect.Value) bool
	// isSilent: no errors are reported, because the rule is not enforced or has none.
	isSilent bool
}

// Program compiles the rules for objects of type typ, a pointer to a struct. It returns nil if
// there are none. Programs of one table share the checks of types.
func (t *Table) Program(typ reflect.Type) (*Program, error) {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is no pointer to a struct", typ)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	root, err := t.node(typ.Elem())
	if err != nil || root == nil {
		return nil, err
	}
	return &Program{root: root}, nil
}

// node returns the checks of a type, or nil if there are none.
func (c *Table) node(t reflect.Type) (*node, error) {
	if n, ok := c.nodes[t]; ok {
		return n, nil // which is not complete yet if the type contains itself
	}
	if !c.packages[t.PkgPath()] {
		return nil, nil
	}
	n := &node{}
	c.nodes[t] = n
	rules, err := c.rulesOf(t)
	if err != nil {
		return nil, err
	}
	if n.own, err = c.ownChecks(t, rules); err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	if t.Kind() == reflect.Struct {
		for _, f := range gotype.Fields(t) {
			compiled, err := c.field(f, rules[f.GoName])
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", t, f.GoName, err)
			}
			if compiled != nil {
				n.fields = append(n.fields, *compiled)
			}
		}
	}
	if len(n.own)+len(n.fields) == 0 {
		c.nodes[t] = nil
	}
	return c.nodes[t], nil
}

// ownChecks returns the checks of the rules of a type itself, and of rules of its fields about
// several fields.
func (c *Table) ownChecks(t reflect.Type, rules typeRules) ([]check, error) {
	var checks []check
	for _, r := range rules[ownRules] {
		if !r.isEnforced {
			continue
		}
		made, err := typeCheck(t, r)
		if err != nil {
			return nil, err
		}
		checks = append(checks, made)
	}
	if t.Kind() != reflect.Struct {
		return checks, nil
	}
	for _, f := range gotype.Fields(t) {
		for _, r := range rules[f.GoName] {
			if r.isEnforced && (r.name == "dependentRequired" || r.name == "dependentForbidden") {
				made, err := dependentCheck(t, f, r)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", f.GoName, err)
				}
				checks = append(checks, made)
			}
		}
	}
	modes, err := modeChecks(t, rules)
	return append(checks, modes...), err
}

// field returns the checks of a field, or nil if there are none.
func (c *Table) field(f gotype.Field, rules []rule) (*fieldNode, error) {
	n := &fieldNode{index: f.Index, name: f.Name, kind: f.Type.Kind()}
	var err error
	if n.items, err = correspondenceOf(f.Type, rules); err != nil {
		return nil, err
	}
	if n.groups, err = groupsOf(f, n.items, rules); err != nil {
		return nil, err
	}
	if hasRule(rules, "opaqueType") {
		return n.complete(), nil
	}
	value := gotype.Deref(f.Type)
	n.kind = value.Kind()
	switch {
	case n.kind == reflect.Map:
		if n.key, err = c.node(value.Key()); err != nil {
			return nil, err
		}
		value = value.Elem()
	case n.kind == reflect.Slice:
		value = value.Elem()
	}
	value = gotype.Deref(value)
	isOpaque := slices.ContainsFunc(rules, func(r rule) bool { return r.name == "eachVal" && r.payload == "opaqueType" })
	if !isOpaque {
		n.value, err = c.node(value)
	}
	return n.complete(), err
}

// complete sets what follows from the other fields. It returns nil for a field without checks that can
// report an error.
func (n *fieldNode) complete() *fieldNode {
	n.isCompared = len(n.groups) > 1 || len(n.groups[0].circuit)+len(n.groups[0].rest) > 0 || n.kind != reflect.Struct
	if n.value != nil || n.key != nil {
		return n
	}
	for _, g := range n.groups {
		for _, k := range slices.Concat(g.circuit, g.rest) {
			if !k.isSilent {
				return n
			}
		}
	}
	return nil
}

// groupsOf returns the checks of the rules of a field. The rules of a subfield are a group of
// their own.
func groupsOf(f gotype.Field, items correspondence, rules []rule) ([]group, error) {
	groups, names := make([]group, 1), []string{""}
	for _, r := range rules {
		if isStructural(r) {
			continue
		}
		at := 0
		if r.name == "subfield" {
			if at = slices.Index(names, r.args); at < 0 {
				at, groups, names = len(groups), append(groups, group{}), append(names, r.args)
			}
		}
		made, isCircuit, err := fieldCheck(f, items, r)
		if err != nil {
			return nil, err
		}
		if isCircuit {
			groups[at].circuit = append(groups[at].circuit, made)
		} else if r.isEnforced {
			groups[at].rest = append(groups[at].rest, made)
		}
	}
	return groups, nil
}

// isStructural reports whether a rule is no check of the field: it says how the elements of a list
// correspond, or belongs to the struct.
func isStructural(r rule) bool {
	switch r.name {
	case "items", "opaqueType", "dependentRequired", "dependentForbidden", "modeDiscriminator", "ifMode":
		return true
	}
	return r.payload == "opaqueType"
}

func hasRule(rules []rule, name string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.name == name })
}
