package minor

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/internal/gotypes"
)

// plan has the fields of a struct type that are newer than the release, that have a widened enum
// as type, or through which such fields can be reached.
type plan struct{ steps []step }

type step struct {
	index int    // of the field in the Go type
	name  string // in JSON; empty for an embedded struct
	newer bool
	// next is the plan of the field's type, or of that of its elements. It is nil for a newer
	// field and for an enum.
	next *plan
}

// planOf returns the plan of a struct type.
func (r *Release) planOf(t reflect.Type) *plan {
	if p, ok := r.plans.Load(t); ok {
		return p.(*plan)
	}
	p := r.build(t, map[reflect.Type]*plan{})
	r.plans.Store(t, p)
	return p
}

// build makes the plan of a struct type. begun has the plans of the types that lead to it, since
// types can be recursive.
func (r *Release) build(t reflect.Type, begun map[reflect.Type]*plan) *plan {
	if p, ok := begun[t]; ok {
		return p
	}
	p := &plan{}
	begun[t] = p
	for f, name := range gotypes.Fields(t) {
		s := step{index: f.Index[0], name: name, newer: slices.Contains(r.fields[gotypes.Name(t)], name)}
		element := gotypes.Element(f.Type)
		if !s.newer && element.Kind() == reflect.Struct {
			if !r.reaches(element, map[reflect.Type]bool{}) {
				continue
			}
			s.next = r.build(element, begun)
		}
		if s.newer || s.next != nil || r.newer[gotypes.Name(element)] != nil {
			p.steps = append(p.steps, s)
		}
	}
	return p
}

// reaches reports whether a plan of a struct type has steps. seen are the types that lead to it.
func (r *Release) reaches(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if r.fields[gotypes.Name(t)] != nil {
		return true
	}
	for f := range gotypes.Fields(t) {
		element := gotypes.Element(f.Type)
		if r.newer[gotypes.Name(element)] != nil || element.Kind() == reflect.Struct && r.reaches(element, seen) {
			return true
		}
	}
	return false
}

// A visitor handles the newer fields of an object and its values of widened enums. The walk calls its
// methods.
type visitor interface {
	// newerField reports whether it has changed the field.
	newerField(at *field.Path, v reflect.Value) bool
	enumValue(at *field.Path, v reflect.Value)
}

// walk visits a struct, and reports whether it was changed.
func (p *plan) walk(v reflect.Value, at *field.Path, to visitor) (changed bool) {
	for _, s := range p.steps {
		f, at := v.Field(s.index), at
		if s.name != "" {
			at = at.Child(s.name)
		}
		if s.newer {
			changed = to.newerField(at, f) || changed
			continue
		}
		changed = s.enter(f, at, to) || changed
	}
	return changed
}

// enter visits the structs and the enums in the value of a field.
func (s *step) enter(v reflect.Value, at *field.Path, to visitor) (changed bool) {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && s.enter(v.Elem(), at, to)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			changed = s.enter(v.Index(i), at.Index(i), to) || changed
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem() // a value in a map cannot be changed in place
			value.Set(v.MapIndex(key))
			if s.enter(value, at.Key(key.String()), to) {
				v.SetMapIndex(key, value)
				changed = true
			}
		}
	case reflect.Struct:
		return s.next.walk(v, at, to)
	default:
		to.enumValue(at, v)
	}
	return changed
}

// omission removes newer fields.
type omission struct{ fields []string }

func (o *omission) newerField(at *field.Path, v reflect.Value) bool {
	if v.IsZero() {
		return false
	}
	o.fields = append(o.fields, at.String())
	v.SetZero()
	return true
}

func (o *omission) enumValue(*field.Path, reflect.Value) {}

// refusal collects errors for newer values.
type refusal struct {
	release *Release
	errs    field.ErrorList
}

func (*refusal) newerField(*field.Path, reflect.Value) bool { return false }

func (r *refusal) enumValue(at *field.Path, v reflect.Value) {
	supported := r.release.values[gotypes.Name(v.Type())]
	if value := v.String(); value != "" && !slices.Contains(supported, value) {
		r.errs = append(r.errs, field.NotSupported(at, value, supported))
	}
}
