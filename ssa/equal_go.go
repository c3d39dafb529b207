package ssa

import (
	"bytes"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"
)

// equal tells whether two values are the same as JSON. Neither is left out.
func (p *plan) equal(a, b reflect.Value) bool {
	a, nullA := p.deref(a)
	b, nullB := p.deref(b)
	if nullA || nullB {
		return nullA == nullB || p.shape == shapeOwn && equalJSON(p.plainOr(a, nullA), p.plainOr(b, nullB))
	}
	switch p.shape {
	case shapeScalar:
		return a.Equal(b)
	case shapeBytes:
		return bytes.Equal(a.Bytes(), b.Bytes())
	case shapeStruct:
		return p.equalStruct(a, b)
	case shapeMap:
		return p.equalMap(a, b)
	case shapeList:
		return p.equalList(a, b)
	}
	return p.comparable && a.Interface() == b.Interface() ||
		equalJSON(p.plainOr(a, false), p.plainOr(b, false))
}

// plainOr is ownPlain of what may be null. What cannot be told is like nothing
// else, so that it counts as changed.
func (p *plan) plainOr(v reflect.Value, null bool) any {
	if null {
		return nil
	}
	out, err := ownPlain(v)
	if err != nil {
		return err
	}
	return out
}

func (p *plan) equalStruct(a, b reflect.Value) bool {
	for i := range p.fields {
		f := &p.fields[i]
		x, inA := f.get(a)
		y, inB := f.get(b)
		if inA != inB || inA && !f.plan.equal(x, y) {
			return false
		}
	}
	return true
}

func (p *plan) equalMap(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	if a.UnsafePointer() == b.UnsafePointer() {
		return true
	}
	if x, y, ok := stringMaps(a, b); ok {
		return maps.Equal(x, y)
	}
	for it := a.MapRange(); it.Next(); {
		y := b.MapIndex(it.Key())
		if !y.IsValid() || !p.elem.equal(it.Value(), y) {
			return false
		}
	}
	return true
}

func (p *plan) equalList(a, b reflect.Value) bool {
	n := a.Len()
	if n != b.Len() {
		return false
	}
	if a.UnsafePointer() == b.UnsafePointer() {
		return true
	}
	for i := range n {
		if !p.elem.equal(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

// plain returns v as plain JSON.
func (p *plan) plain(v reflect.Value) (any, error) {
	v, null := p.deref(v)
	if null {
		return nil, nil
	}
	if p.shape == shapeScalar {
		switch {
		case v.Kind() == reflect.String:
			return v.String(), nil
		case v.Kind() == reflect.Bool:
			return v.Bool(), nil
		case v.CanInt():
			return v.Int(), nil
		}
	}
	return ownPlain(v)
}

// ownPlain returns v, whatever it is, as plain JSON.
func ownPlain(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Interface && v.IsNil() {
		return nil, nil
	}
	in := addressable(v).Interface()
	if u, ok := in.(interface{ ToUnstructured() any }); ok {
		return u.ToUnstructured(), nil
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	return out, nil
}
