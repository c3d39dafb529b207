package gated

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// DropFromNew removes the fields of disabled gates from a new object, which is a pointer to a struct
// of the type of the program.
func (p *Program) DropFromNew(obj runtime.Object) {
	v := reflect.ValueOf(obj).Elem()
	present, _ := p.root.find(v)
	if present &^= p.onlyUpdate; present != 0 {
		p.root.drop(v, present)
	}
}

// Drop removes the fields of disabled gates from a changed object, unless the stored object uses
// them. The objects may share memory.
func (p *Program) Drop(obj, old runtime.Object) {
	v := reflect.ValueOf(obj).Elem()
	present, _ := p.root.find(v)
	if present &^= p.onlyCreate; present == 0 {
		return
	}
	_, kept := p.root.find(reflect.ValueOf(old).Elem())
	if present &^= kept; present != 0 {
		v.Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
		p.root.drop(v, present)
	}
}

// find returns the groups of which a struct has fields, and the groups that its fields keep.
func (n *node) find(v reflect.Value) (present, kept groups) {
	for i := range n.steps {
		s := &n.steps[i]
		f := v.Field(s.index)
		if s.removed != 0 && !f.IsZero() {
			present |= s.removed
		}
		if s.kept != 0 && isSet(f) {
			kept |= s.kept
		}
		if s.next != nil {
			p, k := s.next.findBelow(f)
			present |= p
			kept |= k
		}
	}
	return present, kept
}

// isSet reports whether a field of a stored object keeps a group. An empty list does not, and is removed as other lists are.
func isSet(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() > 0
	default:
		return !v.IsZero()
	}
}

// findBelow is find for the structs in the value of a field.
func (n *node) findBelow(v reflect.Value) (present, kept groups) {
	switch v.Kind() {
	case reflect.Struct:
		return n.find(v)
	case reflect.Pointer:
		if !v.IsNil() {
			return n.findBelow(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			p, k := n.findBelow(v.Index(i))
			present |= p
			kept |= k
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			p, k := n.findBelow(v.MapIndex(key))
			present |= p
			kept |= k
		}
	}
	return present, kept
}

// drop removes the fields of groups from a struct, and reports whether it has removed one.
func (n *node) drop(v reflect.Value, remove groups) (changed bool) {
	for i := range n.steps {
		s := &n.steps[i]
		f := v.Field(s.index)
		if s.removed&remove != 0 && !f.IsZero() {
			f.SetZero()
			changed = true
		}
		if s.next != nil {
			changed = s.next.dropBelow(f, remove) || changed
		}
	}
	return changed
}

// dropBelow is drop for the structs in the value of a field.
func (n *node) dropBelow(v reflect.Value, remove groups) (changed bool) {
	switch v.Kind() {
	case reflect.Struct:
		return n.drop(v, remove)
	case reflect.Pointer:
		changed = !v.IsNil() && n.dropBelow(v.Elem(), remove)
		if changed && n.removeEmpty && v.Elem().IsZero() {
			v.SetZero()
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			changed = n.dropBelow(v.Index(i), remove) || changed
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem() // a value in a map cannot be changed in place
			value.Set(v.MapIndex(key))
			if n.dropBelow(value, remove) {
				v.SetMapIndex(key, value)
				changed = true
			}
		}
	}
	return changed
}
