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
	if !s.preservesUnknown {
		prune(object, n, true)
		dropNulls(object, n)
	}
	if n.containsEmbedded {
		// A lenient coercer does not fail.
		_ = (&coercer{lenient: true}).coerce(nil, object, n)
	}
}

// Coerce is Prune for an object in a request. It returns the paths of the unknown
// fields, and an error for invalid embedded metadata.
func (s *Schema) Coerce(object map[string]any) (unknown []string, err error) {
	n := s.shape()
	if !s.preservesUnknown {
		unknown = prune(object, n, true)
		dropNulls(object, n)
	}
	if !n.containsEmbedded {
		return unknown, nil
	}
	c := &coercer{}
	if fault := c.coerce(nil, object, n); fault != nil {
		return nil, fault
	}
	slices.Sort(c.unknown)
	return append(unknown, c.unknown...), nil
}

// prune prunes a value and returns the paths of the dropped fields. hasMeta: the value has
// apiVersion, kind and metadata.
func prune(v any, n *node, hasMeta bool) []string {
	p := pruner{at: make([]pathStep, 0, 8)}
	if m, ok := v.(map[string]any); ok && hasMeta {
		p.object(m, n, true, n.preserve)
	} else {
		p.value(v, n, false)
	}
	slices.Sort(p.dropped)
	return p.dropped
}

// pruner keeps the current path and the paths of the dropped fields.
type pruner struct {
	at      []pathStep
	dropped []string
}

// pathStep is the name of a field or the index of an item.
type pathStep struct {
	field  string
	isItem bool
	item   int
}

// within prunes the value of a field or an item.
func (p *pruner) within(s pathStep, v any, n *node, keep bool) {
	switch v.(type) {
	case map[string]any, []any:
		p.at = append(p.at, s)
		p.value(v, n, keep)
		p.at = p.at[:len(p.at)-1]
	}
}

// value prunes a value. keep: the value is in a list whose schema preserves unknown
// fields, which then holds for the items too.
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
			p.within(pathStep{isItem: true, item: i}, v[i], items, keep)
		}
	}
}

// object prunes an object. hasMeta: it has apiVersion, kind and metadata; keep: it keeps
// unknown fields. If additionalProperties is true, other fields are kept, but the fields
// inside their values are unknown.
func (p *pruner) object(m map[string]any, n *node, hasMeta, keep bool) {
	for name, v := range m {
		if hasMeta && (name == "apiVersion" || name == "kind" || name == "metadata") {
			continue
		}
		switch {
		case n == nil:
			p.drop(m, name)
		case n.fields[name] != nil:
			p.within(pathStep{field: name}, v, n.fields[name], false)
		case n.values != nil, n.anyValue:
			p.within(pathStep{field: name}, v, n.values, false)
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
			path = childPath(path, s.field)
		}
	}
	p.dropped = append(p.dropped, childPath(path, name))
}

// childPath returns the path of a field of the value at path.
func childPath(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}
