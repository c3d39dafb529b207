package ssa

import (
	"reflect"
	"strconv"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// element returns the path element of an item of p's list.
func (p *plan) element(item reflect.Value) (element, error) {
	if len(p.keys) == 0 || p.elem.shape != shapeStruct {
		v, err := p.elem.jsonValue(item)
		if err != nil {
			return element{}, err
		}
		return p.t.list.element(v)
	}
	v, null := p.elem.deref(item)
	if null {
		return p.t.list.element(nil)
	}
	var room [96]byte
	b := room[:0]
	for i := range p.keys {
		k := &p.keys[i]
		lead := k.lead
		if len(b) == 0 {
			b = append(b, '{')
			lead = lead[1:]
		}
		var ok bool
		var err error
		if b, ok, err = k.appendValue(b, lead, v); err != nil {
			return element{}, err
		}
		if !ok && len(b) == 1 {
			b = b[:0]
		}
	}
	return p.t.list.keyElement(b)
}

// appendValue appends lead and the value of the key in v, or the key's default. ok is false if
// there is neither.
func (k *planKey) appendValue(b []byte, lead string, v reflect.Value) (out []byte, ok bool, err error) {
	if k.field != nil {
		if x, ok := k.field.get(v); ok {
			b = append(b, lead...)
			b, err = k.field.plan.appendScalar(b, x)
			return b, true, err
		}
	}
	if k.other == nil {
		return b, false, nil
	}
	b, err = appendScalar(append(b, lead...), k.other)
	return b, true, err
}

func (p *plan) appendScalar(b []byte, v reflect.Value) ([]byte, error) {
	if p.shape == shapeScalar {
		x, null := p.deref(v)
		switch {
		case null:
			return append(b, "null"...), nil
		case x.Kind() == reflect.String:
			return quickjson.AppendString(b, x.String()), nil
		case x.CanInt():
			return strconv.AppendInt(b, x.Int(), 10), nil
		}
	}
	x, err := p.jsonValue(v)
	if err != nil {
		return nil, err
	}
	return appendScalar(b, x)
}
