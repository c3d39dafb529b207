package structural

import (
	"cmp"
	"slices"
	"strconv"
)

// Prune drops from an object the fields of which the schema does not know, and
// returns their paths, sorted. What every object has is known.
func (s *Schema) Prune(object map[string]any) (unknown []string) {
	p := pruner{}
	p.object(object, s.root, "", true)
	slices.SortFunc(p.dropped, cmp.Compare[string])
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
