package ssa

import (
	"bytes"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// equal reports whether two values that exist in JSON are equal as JSON.
func (p *plan) equal(a, b reflect.Value) bool {
	a, nullA := p.deref(a)
	b, nullB := p.deref(b)
	if nullA || nullB {
		return nullA == nullB || p.shape == shapeOwn && equalJSON(p.ownJSONOrNil(a, nullA), p.ownJSONOrNil(b, nullB))
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
		equalJSON(p.ownJSONOrNil(a, false), p.ownJSONOrNil(b, false))
}

// ownJSONOrNil converts v, which may be null. If the conversion fails, it returns the error as the
// value, which compares unequal, so that the field counts as changed.
func (p *plan) ownJSONOrNil(v reflect.Value, null bool) any {
	if null {
		return nil
	}
	out, err := ownJSON(v)
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

// jsonValue returns v as decoded JSON.
func (p *plan) jsonValue(v reflect.Value) (any, error) {
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
	return ownJSON(v)
}

// ownJSON returns v as decoded JSON by means of its own conversion.
func ownJSON(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Interface && v.IsNil() {
		return nil, nil
	}
	in := gotype.Addressable(v).Addr().Interface()
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
