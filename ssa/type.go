package ssa

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// Type is the compiled schema of a value: for each form it may have, the granularity of ownership.
// A Type is immutable once compiled.
type Type struct {
	scalar bool
	// scalarType is the type of scalars.
	scalarType schema.Scalar
	object     *objectType
	list       *listType
}

// objectType is the schema of an object.
type objectType struct {
	// atomic reports that the object is owned as a single field.
	atomic bool
	// fields are the declared fields; other is the schema of all others, nil if none are allowed.
	fields map[string]*Type
	other  *Type
	// open reports that the schema allows any fields without declaring one.
	open bool
}

// fieldType returns the schema of a field, nil if it is not allowed, and whether it is declared.
func (o *objectType) fieldType(name string) (t *Type, named bool) {
	if t, ok := o.fields[name]; ok {
		return t, true
	}
	return o.other, false
}

// listType is the schema of a list.
type listType struct {
	atomic bool
	// keys are the sorted key fields that identify items; without any, the list is a set of
	// scalars.
	keys []listKey
	item *Type
}

// listKey is a key field with its default.
type listKey struct {
	name  string
	other any
}

// deducedType is the name of the type without a schema.
const deducedType = "__untyped_deduced_"

// compiler compiles the types of a schema, each once.
type compiler struct {
	schema *schema.Schema
	named  map[typeName]*Type
}

// typeName is a named type with the relationship that a reference overrides.
type typeName struct {
	name         string
	relationship schema.ElementRelationship
}

// compileType compiles the Type of t.
func compileType(t typed.ParseableType) (*Type, error) {
	c := &compiler{schema: t.Schema, named: map[typeName]*Type{}}
	return c.ref(t.TypeRef)
}

func (c *compiler) ref(r schema.TypeRef) (*Type, error) {
	if r.NamedType == nil {
		t := &Type{}
		return t, c.atom(t, r)
	}
	name := typeName{name: *r.NamedType}
	if r.ElementRelationship != nil {
		name.relationship = *r.ElementRelationship
	}
	if t := c.named[name]; t != nil {
		return t, nil
	}
	t := &Type{}
	c.named[name] = t
	return t, c.atom(t, r)
}

// atom compiles t. Types may be recursive, so t is registered before it is complete.
func (c *compiler) atom(t *Type, r schema.TypeRef) error {
	a, ok := c.schema.Resolve(r)
	if !ok {
		return errorf("schema error: no type found matching: %v", *r.NamedType)
	}
	if a.Scalar != nil {
		t.scalar, t.scalarType = true, *a.Scalar
	}
	var err error
	if a.Map != nil {
		if t.object, err = c.object(a.Map); err != nil {
			return err
		}
	}
	if a.List != nil {
		t.list, err = c.list(a.List)
	}
	return err
}

func (c *compiler) object(m *schema.Map) (*objectType, error) {
	o := &objectType{atomic: m.ElementRelationship == schema.Atomic, fields: make(map[string]*Type, len(m.Fields))}
	for _, f := range m.Fields {
		t, err := c.ref(f.Type)
		if err != nil {
			return nil, err
		}
		o.fields[f.Name] = t
	}
	e := m.ElementType
	if e.NamedType == nil && e.Inlined == (schema.Atom{}) {
		return o, nil
	}
	o.open = m.Fields == nil && (e.NamedType != nil && *e.NamedType == deducedType ||
		e.NamedType == nil && e.Inlined.Scalar != nil && *e.Inlined.Scalar == schema.Untyped)
	var err error
	o.other, err = c.ref(e)
	return o, err
}

func (c *compiler) list(l *schema.List) (*listType, error) {
	t := &listType{atomic: l.ElementRelationship == schema.Atomic}
	var err error
	if t.item, err = c.ref(l.ElementType); err != nil || len(l.Keys) == 0 {
		return t, err
	}
	item, ok := c.schema.Resolve(l.ElementType)
	if !ok || item.Map == nil {
		return nil, errorf("associative list may not have non-map types")
	}
	for _, name := range l.Keys {
		f, _ := item.Map.FindField(name)
		t.keys = append(t.keys, listKey{name, f.Default})
	}
	coldsort.Func(t.keys, func(a, b listKey) int { return strings.Compare(a.name, b.name) })
	return t, nil
}
