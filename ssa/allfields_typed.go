package ssa

import (
	"reflect"
	"slices"
)

// allFields returns all fields within an added or removed value, marked m.
func (p *plan) allFields(v reflect.Value, m mark) (Set, error) {
	if p.leaf {
		return nil, nil
	}
	v, null := p.deref(v)
	if null {
		return nil, nil
	}
	return p.allFieldsOf(v, m)
}

func (p *plan) allFieldsOf(v reflect.Value, m mark) (Set, error) {
	switch p.shape {
	case shapeStruct:
		return p.allStructFields(v, m)
	case shapeMap:
		return p.allMapFields(v, m)
	case shapeList:
		return allItems(itemsOf(v), p.items(), m)
	}
	plain, err := ownJSON(v)
	if err != nil {
		return nil, err
	}
	return allFields(p.t, plain, m)
}

func (p *plan) allMapFields(v reflect.Value, m mark) (Set, error) {
	out := make(Set, 0, v.Len())
	if x, _, ok := stringMaps(v, v); ok {
		for name := range x {
			out = append(out, node{element: field(name), mark: m})
		}
		return out.sorted(), nil
	}
	for it := v.MapRange(); it.Next(); {
		n := node{element: field(it.Key().String()), mark: m}
		var err error
		if n.kids, err = p.elem.allFields(it.Value(), m); err != nil {
			return nil, errAt(n.element, err)
		}
		out = append(out, n)
	}
	return out.sorted(), nil
}

func (p *plan) allStructFields(v reflect.Value, m mark) (Set, error) {
	var room [8]node
	all := Set(room[:0])
	for i := range p.fields {
		f := &p.fields[i]
		x, ok := f.get(v)
		if !ok {
			continue
		}
		kids, err := f.plan.allFields(x, m)
		if err != nil {
			return nil, errAt(f.element, err)
		}
		all = append(all, node{f.element, m, kids})
	}
	return slices.Clone(all), nil
}
