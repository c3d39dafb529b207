package structural

import (
	"slices"
	"strconv"
)

// Prune removes unknown fields from an object, nulls of fields that are neither
// nullable nor have a default, and invalid parts of embedded metadata. The fields
// of every object (apiVersion, kind, metadata) are known.
func (s *Schema) Prune(object map[string]any) {
	n := s.shape()
	if !s.keeps {
		prune(object, n, true)
		dropNulls(object, n)
	}
	if n.embeds {
		// It is lenient, and does not fail.
		_ = (&coercer{lenient: true}).coerce(nil, object, n)
	}
}

// Coerce is Prune for an object in a request. It returns the paths of the unknown
// fields, and an error for invalid embedded metadata.
func (s *Schema) Coerce(object map[string]any) (unknown []string, err error) {
	n := s.shape()
	if !s.keeps {
		unknown = prune(object, n, true)
		dropNulls(object, n)
	}
	if !n.embeds {
		return unknown, nil
	}
	c := &coercer{}
	if fault := c.coerce(nil, object, n); fault != nil {
		return nil, fault
	}
	slices.Sort(c.unknown)
	return append(unknown, c.unknown...), nil
}

// prune prunes a value, which is an object with kind and metadata if whole is set,
// and returns the paths of what it dropped.
func prune(v any, n *node, whole bool) []string {
	p := pruner{at: make([]step, 0, 8)}
	if m, ok := v.(map[string]any); ok && whole {
		p.object(m, n, true, n.preserve)
	} else {
		p.value(v, n, false)
	}
	slices.Sort(p.dropped)
	return p.dropped
}

// pruner notes what it drops, and where it is.
type pruner struct {
	at      []step
	dropped []string
}

// step leads to a field or to an item.
type step struct {
	field  string
	isItem bool
	item   int
}

// within prunes what a step leads to.
func (p *pruner) within(s step, v any, n *node, keep bool) {
	switch v.(type) {
	case map[string]any, []any:
		p.at = append(p.at, s)
		p.value(v, n, keep)
		p.at = p.at[:len(p.at)-1]
	}
}

// value prunes a value. Keep: it is an item of a list that keeps what its items
// have, as if they said so themselves.
func (p *pruner) value(v any, n *node, keep bool) {
	keep = keep || n != nil && n.preserve
	switch v := v.(type) {
	case map[string]any:
		p.object(v, n, n != nil && n.embedded, keep)
	case []any:
		var items *node
		if n != nil {
			items = n.items
		}
		if items == nil && keep {
			return
		}
		for i := range v {
			p.within(step{isItem: true, item: i}, v[i], items, keep)
		}
	}
}

// object prunes an object; whole tells of one with kind, version and metadata, and
// keep of one that may have unknown fields. Where anything may be, there is nothing
// that is known of it: it keeps its name, and loses what is inside.
func (p *pruner) object(m map[string]any, n *node, whole, keep bool) {
	for name, v := range m {
		if whole && (name == "apiVersion" || name == "kind" || name == "metadata") {
			continue
		}
		switch {
		case n == nil:
			p.drop(m, name)
		case n.fields[name] != nil:
			p.within(step{field: name}, v, n.fields[name], false)
		case n.values != nil, n.any:
			p.within(step{field: name}, v, n.values, false)
		case keep:
		default:
			p.drop(m, name)
		}
	}
}

func (p *pruner) drop(m map[string]any, name string) {
	delete(m, name)
	var path string
	for _, s := range p.at {
		if s.isItem {
			path += "[" + strconv.Itoa(s.item) + "]"
		} else {
			path = child(path, s.field)
		}
	}
	p.dropped = append(p.dropped, child(path, name))
}

// child is the path of a field of what is at a path.
func child(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}
