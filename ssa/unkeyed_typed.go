package ssa

import (
	"reflect"
	"slices"
)

// An item of an associative list that has none of its keys has no field path, so no field of the
// object can be owned.

// keysMayLack reports whether JSON can omit all keys of an item. A key with a default is never
// missing.
func keysMayLack(keys []planKey) bool {
	return len(keys) > 0 && !slices.ContainsFunc(keys, func(k planKey) bool {
		return k.other != nil || k.field != nil && !k.field.OmitEmpty && !k.field.OmitZero
	})
}

// findUnkeyed sets mayLackKey of all compiled plans, which may contain each other.
func (p *planner) findUnkeyed() {
	for changed := true; changed; {
		changed = false
		for _, plan := range p.plans {
			if !plan.mayLackKey && plan.containsUnkeyed() {
				plan.mayLackKey, changed = true, true
			}
		}
	}
}

func (p *plan) containsUnkeyed() bool {
	if p.leaf {
		return false
	}
	return p.keysMayLack || p.elem != nil && p.elem.mayLackKey ||
		slices.ContainsFunc(p.fields, func(f planField) bool { return f.plan.mayLackKey })
}

// lacksKey reports whether v contains an item of an associative list without any of its keys.
func (p *plan) lacksKey(v reflect.Value) bool {
	if !p.mayLackKey {
		return false
	}
	v, null := p.deref(v)
	if null {
		return false
	}
	switch p.shape {
	case shapeStruct:
		for i := range p.fields {
			if f := &p.fields[i]; f.plan.mayLackKey {
				if x, ok := f.get(v); ok && f.plan.lacksKey(x) {
					return true
				}
			}
		}
	case shapeMap:
		for it := v.MapRange(); it.Next(); {
			if p.elem.lacksKey(it.Value()) {
				return true
			}
		}
	case shapeList:
		for i := range v.Len() {
			if p.itemLacksKey(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

func (p *plan) itemLacksKey(item reflect.Value) bool {
	if p.keysMayLack {
		if _, err := p.element(item); err != nil {
			return true
		}
	}
	return p.elem.lacksKey(item)
}
