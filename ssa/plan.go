package ssa

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// shape is the JSON form of a Go type.
type shape uint8

const (
	shapeScalar shape = iota
	shapeBytes        // []byte, a string in JSON
	shapeStruct
	shapeMap
	shapeList
	// shapeOwn is the shape of types that implement their own conversion to JSON.
	shapeOwn
)

// plan describes how to compare values of one Go type. It is compiled from the Go type and the
// schema.
type plan struct {
	shape shape
	// rt is the Go type, dereferenced if it is a pointer.
	rt      reflect.Type
	pointer bool
	// comparable reports that values which are equal in Go are equal in JSON.
	comparable bool
	// t is nil below atomic values, where only equality matters.
	t *Type
	// leaf reports that the value is owned as a single field.
	leaf   bool
	fields []planField
	// elem is the plan of a map's values or a list's items.
	elem *plan
	// keys are the key fields of a list's items. keysMayLack reports that JSON can omit all of them,
	// mayLackKey that the value can contain such a list.
	keys                    []planKey
	keysMayLack, mayLackKey bool
}

// planField is a field of a struct with its JSON name.
type planField struct {
	*gotype.Field
	element element
	plan    *plan
}

// planKey is a key field of an associative list.
type planKey struct {
	listKey
	// lead is the text before the value in the element's text.
	lead  string
	field *planField
}

// planner compiles the plans of one version of a kind.
type planner struct {
	plans map[planID]*plan
}

type planID struct {
	t  *Type
	rt reflect.Type
}

// compile returns the plan of Go type rt with schema t, which may be nil.
func (p *planner) compile(rt reflect.Type, t *Type) *plan {
	id := planID{t, rt}
	if existing := p.plans[id]; existing != nil {
		return existing
	}
	out := &plan{rt: rt, t: t}
	p.plans[id] = out
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
		out.elem = p.compile(out.rt.Elem(), out.below(func() *Type { return t.object.other }))
	case shapeList:
		out.leaf = t == nil || t.list == nil || t.list.atomic
		out.elem = p.compile(out.rt.Elem(), out.below(func() *Type { return t.list.item }))
		if !out.leaf {
			out.keys = keysOf(t.list, out.elem)
			out.keysMayLack = keysMayLack(out.keys)
		}
	case shapeOwn:
		out.leaf = t == nil || t.object == nil && t.list == nil
	default:
		out.leaf = true
	}
	return out
}

// below returns the schema of the values within p, nil if p is a leaf.
func (p *plan) below(t func() *Type) *Type {
	if p.leaf {
		return nil
	}
	return t()
}

// shapeOf returns the shape of rt, which is not a pointer type.
func shapeOf(rt reflect.Type) shape {
	if gotype.HasOwnJSON(rt) {
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
	stringMap  = reflect.TypeFor[map[string]string]()
	objectMeta = reflect.TypeFor[metav1.ObjectMeta]()
)

// root compiles the plan of a kind. It leaves out kind, apiVersion and the managedFields of the
// object itself, which nobody owns.
func (p *planner) root(rt reflect.Type, t *Type) *plan {
	out := p.compile(rt, t)
	p.findUnkeyed()
	out.fields = withoutFields(out.fields, "kind", "apiVersion")
	for i, f := range out.fields {
		if f.plan.rt == objectMeta {
			meta := *f.plan // a copy, because the metadata of a template has the same plan
			meta.fields = withoutFields(meta.fields, "managedFields")
			out.fields[i].plan = &meta
		}
	}
	return out
}

func withoutFields(fields []planField, names ...string) []planField {
	return slices.DeleteFunc(slices.Clone(fields), func(f planField) bool { return slices.Contains(names, f.element.text) })
}

// structFields compiles the fields of a struct, sorted by name.
func (p *planner) structFields(out *plan) {
	members := gotype.Members(out.rt)
	for i := range members {
		f := &members[i]
		var t *Type
		if !out.leaf {
			if t, _ = out.t.object.fieldType(f.Name); t == nil {
				continue
			}
		}
		out.fields = append(out.fields, planField{Field: f, element: field(f.Name), plan: p.compile(f.Type, t)})
	}
	slices.SortFunc(out.fields, func(a, b planField) int { return compareElements(a.element, b.element) })
}

// keysOf returns the key fields of a list in the plan of its items.
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

// get returns the field of a struct; ok is false if JSON omits it.
func (f *planField) get(v reflect.Value) (out reflect.Value, ok bool) {
	out = f.In(v)
	return out, out.IsValid() && !f.Omits(out)
}

// deref dereferences v. null reports a nil pointer, map or slice.
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
