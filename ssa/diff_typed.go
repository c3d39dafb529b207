package ssa

import (
	"reflect"
	"slices"
)

// diff compares two values that exist in JSON. It returns whether the value itself changed, and
// the difference of the fields within it, equal to the result for the values as decoded JSON.
func (p *plan) diff(a, b reflect.Value) (mark, Set, error) {
	if p.leaf {
		if p.equal(a, b) {
			return 0, nil, nil
		}
		return member, nil, nil
	}
	a, nullA := p.deref(a)
	b, nullB := p.deref(b)
	switch {
	case nullA && nullB:
		return 0, nil, nil
	case p.shape == shapeOwn:
		return p.differOwn(a, b, nullA, nullB)
	}
	emptyA, emptyB := nullA || p.isEmptyValue(a), nullB || p.isEmptyValue(b)
	if emptyA && emptyB {
		// null and {} are told apart, as if they were scalars.
		if nullA != nullB {
			return member, nil, nil
		}
		return 0, nil, nil
	}
	var kids Set
	var err error
	switch {
	case emptyA:
		kids, err = p.allFieldsOf(b, member)
	case emptyB:
		kids, err = p.allFieldsOf(a, removed)
	case p.shape == shapeStruct:
		kids, err = p.differStruct(a, b)
	case p.shape == shapeMap:
		kids, err = p.differMap(a, b)
	default:
		kids, err = p.differList(a, b)
	}
	return 0, kids, err
}

// isEmptyValue reports whether v, which is not null, is {} or [] in JSON.
func (p *plan) isEmptyValue(v reflect.Value) bool {
	if p.shape != shapeStruct {
		return v.Len() == 0
	}
	for i := range p.fields {
		if _, ok := p.fields[i].get(v); ok {
			return false
		}
	}
	return true
}

func (p *plan) differStruct(a, b reflect.Value) (Set, error) {
	var room [8]node
	out := Set(room[:0])
	for i := range p.fields {
		f := &p.fields[i]
		x, inA := f.get(a)
		y, inB := f.get(b)
		n := node{element: f.element}
		var err error
		switch {
		case inA && inB:
			n.mark, n.kids, err = f.plan.diff(x, y)
		case inA:
			n.mark = removed
			n.kids, err = f.plan.allFields(x, removed)
		case inB:
			n.mark = member
			n.kids, err = f.plan.allFields(y, member)
		}
		if err != nil {
			return nil, errAt(f.element, err)
		}
		if n.mark != 0 || len(n.kids) > 0 {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return slices.Clone(out), nil
}

func (p *plan) differMap(a, b reflect.Value) (Set, error) {
	if x, y, ok := stringMaps(a, b); ok {
		return differStrings(x, y), nil
	}
	var out Set
	add := func(n node, err error) error {
		if err != nil {
			return errAt(n.element, err)
		}
		if n.mark != 0 || len(n.kids) > 0 {
			out = append(out, n)
		}
		return nil
	}
	for it := a.MapRange(); it.Next(); {
		n := node{element: field(it.Key().String())}
		var err error
		if y := b.MapIndex(it.Key()); y.IsValid() {
			n.mark, n.kids, err = p.elem.diff(it.Value(), y)
		} else {
			n.mark = removed
			n.kids, err = p.elem.allFields(it.Value(), removed)
		}
		if err := add(n, err); err != nil {
			return nil, err
		}
	}
	for it := b.MapRange(); it.Next(); {
		if a.MapIndex(it.Key()).IsValid() {
			continue
		}
		n := node{element: field(it.Key().String()), mark: member}
		var err error
		n.kids, err = p.elem.allFields(it.Value(), member)
		if err := add(n, err); err != nil {
			return nil, err
		}
	}
	return out.sorted(), nil
}

// stringMaps returns two maps as map[string]string, the type of most maps, such as labels. It
// avoids the cost of reflection.
func stringMaps(a, b reflect.Value) (x, y map[string]string, ok bool) {
	if a.Type() != stringMap {
		return nil, nil, false
	}
	return a.Interface().(map[string]string), b.Interface().(map[string]string), true
}

func differStrings(a, b map[string]string) Set {
	var out Set
	for name, x := range a {
		if y, ok := b[name]; !ok {
			out = append(out, node{element: field(name), mark: removed})
		} else if x != y {
			out = append(out, node{element: field(name), mark: member})
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out = append(out, node{element: field(name), mark: member})
		}
	}
	return out.sorted()
}

func (p *plan) differList(a, b reflect.Value) (Set, error) {
	if p.equalList(a, b) {
		return nil, nil
	}
	return differItems(itemsOf(a), itemsOf(b), p.items())
}

func itemsOf(v reflect.Value) []reflect.Value {
	out := make([]reflect.Value, v.Len())
	for i := range out {
		out[i] = v.Index(i)
	}
	return out
}

// items returns the operations on items of a list of Go values.
func (p *plan) items() itemOps[reflect.Value] {
	return itemOps[reflect.Value]{
		element:   p.element,
		diff:      p.elem.diff,
		allFields: p.elem.allFields,
		equal:     p.elem.equal,
	}
}

// differOwn compares values whose type implements its own conversion to JSON.
func (p *plan) differOwn(a, b reflect.Value, nullA, nullB bool) (mark, Set, error) {
	var x, y any
	var err error
	if !nullA {
		if x, err = ownJSON(a); err != nil {
			return 0, nil, err
		}
	}
	if !nullB {
		if y, err = ownJSON(b); err != nil {
			return 0, nil, err
		}
	}
	return diff(p.t, x, y)
}
