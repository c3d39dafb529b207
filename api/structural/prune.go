package structural

import (
	"slices"
	"strconv"
)

// Prune drops from an object the fields of which the schema does not know, and
// of embedded metadata what does not fit. What every object has is known.
func (s *Schema) Prune(object map[string]any) {
	n := s.shape()
	prune(object, n, true)
	if n.embeds {
		// It is lenient, and does not fail.
		_ = (&coercer{lenient: true}).coerce(nil, object, n)
	}
}

// Coerce is Prune for an object that somebody sends. It tells the paths of what it
// dropped, and refuses embedded metadata that does not fit.
func (s *Schema) Coerce(object map[string]any) (unknown []string, err error) {
	n := s.shape()
	unknown = prune(object, n, true)
	if !n.embeds {
		return unknown, nil
	}
	dropNulls(object, n)
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
	p := pruner{}
	if m, ok := v.(map[string]any); ok && whole {
		p.object(m, n, "", true)
	} else {
		p.value(v, n, "")
	}
	slices.Sort(p.dropped)
	return p.dropped
}

// pruner notes what it drops.
type pruner struct{ dropped []string }

func (p *pruner) value(v any, n *node, path string) {
	switch v := v.(type) {
	case map[string]any:
		p.object(v, n, path, n != nil && n.embedded)
	case []any:
		var items *node
		if n != nil {
			items = n.items
			if items == nil && n.preserve {
				return
			}
		}
		for i := range v {
			p.value(v[i], items, path+"["+strconv.Itoa(i)+"]")
		}
	}
}

// object prunes an object; whole tells of one with kind, version and metadata.
func (p *pruner) object(m map[string]any, n *node, path string, whole bool) {
	for name, v := range m {
		at := name
		if path != "" {
			at = path + "." + name
		}
		if whole && (name == "apiVersion" || name == "kind" || name == "metadata") {
			continue
		}
		switch {
		case n == nil:
			p.drop(m, name, at)
		case n.fields[name] != nil:
			p.value(v, n.fields[name], at)
		case n.values != nil:
			p.value(v, n.values, at)
		case n.any, n.preserve:
		default:
			p.drop(m, name, at)
		}
	}
}

func (p *pruner) drop(m map[string]any, name, path string) {
	delete(m, name)
	p.dropped = append(p.dropped, path)
}
