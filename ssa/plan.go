package ssa

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shape is what a Go type is as JSON.
type shape uint8

const (
	shapeScalar shape = iota
	shapeBytes        // []byte, a string in JSON
	shapeStruct
	shapeMap
	shapeList
	// shapeOwn is of types that say themselves what they are as JSON.
	shapeOwn
)

// plan is how values of one Go type are compared, made once from the Go type
// and what the schema says of it.
type plan struct {
	shape shape
	// rt is the Go type, behind the pointer if there is one.
	rt      reflect.Type
	pointer bool
	// comparable: values that are equal in Go are so as JSON.
	comparable bool
	// t is nil where ownership does not go: then only equality is asked for.
	t *Type
	// leaf: the value is owned as a whole.
	leaf   bool
	fields []planField
	// elem is of the values of a map, or the items of a list.
	elem *plan
	// keys of an item are found by these fields of elem.
	keys []planKey
}

// planField is one field of a struct, by its name in JSON.
type planField struct {
	element   element
	index     []int
	omitEmpty bool
	omitZero  func(reflect.Value) bool
	plan      *plan
}

// planKey is a key field of an associative list.
type planKey struct {
	listKey
	// lead is what stands before the value in the text of the element.
	lead  string
	field *planField
}

// planner makes the plans of one version of a kind.
type planner struct {
	made map[planOf]*plan
}

type planOf struct {
	t  *Type
	rt reflect.Type
}

// make returns the plan of Go type rt with Type t, which may be nil.
func (p *planner) make(rt reflect.Type, t *Type) *plan {
	of := planOf{t, rt}
	if there := p.made[of]; there != nil {
		return there
	}
	out := &plan{rt: rt, t: t}
	p.made[of] = out
	if rt.Kind() == reflect.Pointer {
		out.pointer, out.rt = true, rt.Elem()
	}
	out.shape = shapeOf(out.rt)
	out.comparable = out.rt.Comparable() && out.rt.Kind() != reflect.Interface
	switch out.shape {
	case shapeStruct:
		out.leaf = t == nil || t.object == nil || t.object.atomic
		p.structFields(out)
	case shapeMap:
		out.leaf = t == nil || t.object == nil || t.object.atomic
		out.elem = p.make(out.rt.Elem(), out.below(func() *Type { return t.object.other }))
	case shapeList:
		out.leaf = t == nil || t.list == nil || t.list.atomic
		out.elem = p.make(out.rt.Elem(), out.below(func() *Type { return t.list.item }))
		if !out.leaf {
			out.keys = keysOf(t.list, out.elem)
		}
	case shapeOwn:
		out.leaf = t == nil || t.object == nil && t.list == nil
	default:
		out.leaf = true
	}
	return out
}

// below is the Type of what a value holds, nil when the value is a leaf.
func (p *plan) below(t func() *Type) *Type {
	if p.leaf {
		return nil
	}
	return t()
}

// shapeOf tells what rt, which is no pointer, is as JSON.
func shapeOf(rt reflect.Type) shape {
	if p := reflect.PointerTo(rt); p.Implements(unstructurer) || p.Implements(marshaler) {
		return shapeOwn
	}
	switch rt.Kind() {
	case reflect.Struct:
		return shapeStruct
	case reflect.Map:
		if rt.Key().Kind() == reflect.String {
			return shapeMap
		}
	case reflect.Slice:
		if rt.Elem().Kind() == reflect.Uint8 {
			return shapeBytes
		}
		return shapeList
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return shapeScalar
	}
	return shapeOwn
}

var (
	unstructurer = reflect.TypeFor[interface{ ToUnstructured() any }]()
	marshaler    = reflect.TypeFor[json.Marshaler]()
	zeroer       = reflect.TypeFor[interface{ IsZero() bool }]()
	stringMap    = reflect.TypeFor[map[string]string]()
	objectMeta   = reflect.TypeFor[metav1.ObjectMeta]()
)

// root makes the plan of a kind. Its kind and apiVersion are left out, which
// nobody owns.
func (p *planner) root(rt reflect.Type, t *Type) *plan {
	out := p.make(rt, t)
	out.fields = slices.DeleteFunc(out.fields, func(f planField) bool {
		return f.element.text == "kind" || f.element.text == "apiVersion"
	})
	return out
}

// structFields fills in the fields of a struct, in the order of their names,
// but for managedFields, which nobody owns.
func (p *planner) structFields(out *plan) {
	for _, f := range reflect.VisibleFields(out.rt) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-", !f.IsExported(), f.Anonymous && name == "",
			len(f.Index) > 1 && !inlined(out.rt, f.Index),
			out.rt == objectMeta && name == "managedFields":
			continue
		case name == "":
			name = f.Name
		}
		var t *Type
		if !out.leaf {
			if t, _ = out.t.object.fieldType(name); t == nil {
				continue
			}
		}
		pf := planField{element: field(name), index: f.Index, plan: p.make(f.Type, t)}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty":
				pf.omitEmpty = true
			case "omitzero":
				pf.omitZero = zeroFunc(f.Type)
			}
		}
		out.fields = append(out.fields, pf)
	}
	slices.SortFunc(out.fields, func(a, b planField) int { return compareElements(a.element, b.element) })
}

// inlined tells whether the field at index belongs to the JSON object of rt:
// all that it is embedded in have no name of their own.
func inlined(rt reflect.Type, index []int) bool {
	for n := 1; n < len(index); n++ {
		f := rt.FieldByIndex(index[:n])
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			return false
		}
	}
	return true
}

func zeroFunc(rt reflect.Type) func(reflect.Value) bool {
	switch {
	case rt.Kind() != reflect.Pointer && reflect.PointerTo(rt).Implements(zeroer):
		return func(v reflect.Value) bool {
			return addressable(v).Interface().(interface{ IsZero() bool }).IsZero()
		}
	case rt.Implements(zeroer):
		return func(v reflect.Value) bool {
			return v.IsZero() || v.Interface().(interface{ IsZero() bool }).IsZero()
		}
	}
	return reflect.Value.IsZero
}

// addressable returns a pointer to v, or to a copy of it.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v.Addr()
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p
}

// keysOf finds the key fields of a list in the plan of its items.
func keysOf(l *listType, item *plan) []planKey {
	var keys []planKey
	for i, k := range l.keys {
		b := appendKeyName(make([]byte, min(i, 1)), k.name)
		key := planKey{listKey: k, lead: string(b[min(i, 1):])}
		for j := range item.fields {
			if item.fields[j].element.text == k.name {
				key.field = &item.fields[j]
			}
		}
		keys = append(keys, key)
	}
	return keys
}

// get returns the field of a struct; ok is false when it is left out of JSON.
func (f *planField) get(v reflect.Value) (out reflect.Value, ok bool) {
	out = v.Field(f.index[0])
	for _, i := range f.index[1:] {
		if out.Kind() == reflect.Pointer {
			if out.IsNil() {
				return reflect.Value{}, false
			}
			out = out.Elem()
		}
		out = out.Field(i)
	}
	if f.omitEmpty && isEmpty(out) || f.omitZero != nil && f.omitZero(out) {
		return out, false
	}
	return out, true
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// deref returns what v points to. null is what has no value: a nil pointer, map
// or slice.
func (p *plan) deref(v reflect.Value) (out reflect.Value, null bool) {
	if p.pointer {
		if v.IsNil() {
			return v, true
		}
		v = v.Elem()
	}
	switch p.shape {
	case shapeMap, shapeList, shapeBytes:
		return v, v.IsNil()
	}
	return v, false
}
