package api

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refit makes of a value, which can be set, what protobuf would give back of it:
// lists and maps that are empty are missing, times are without what is not
// written. Only what differs is changed. It returns false if it cannot tell. A nil
// refit is of types that come back as they are.
type refit func(reflect.Value) bool

// refits are those of Go types, made as they are needed.
type refits map[reflect.Type]refit

// refitOf makes the refit of a Go type.
func refitOf(rt reflect.Type) refit { return refits{}.of(rt) }

func (m refits) of(rt reflect.Type) refit {
	if made, ok := m[rt]; ok {
		return made
	}
	m[rt] = cannotTell // of a type that holds itself
	made := m.make(rt)
	m[rt] = made
	return made
}

func cannotTell(reflect.Value) bool { return false }

func (m refits) make(rt reflect.Type) refit {
	switch rt {
	case reflect.TypeFor[metav1.Time]():
		return refitTime
	case reflect.TypeFor[metav1.MicroTime]():
		return refitMicroTime
	case reflect.TypeFor[resource.Quantity]():
		return nil
	}
	switch rt.Kind() {
	case reflect.Pointer:
		return refitPointer(m.of(rt.Elem()))
	case reflect.Struct:
		return m.ofStruct(rt)
	case reflect.Slice:
		if rt.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		return refitList(m.of(rt.Elem()))
	case reflect.Map:
		if rt.Elem().Kind() == reflect.Slice {
			return refitMap(refitListInMap)
		}
		return refitMap(m.of(rt.Elem()))
	case reflect.Interface:
		return func(v reflect.Value) bool { return v.IsNil() }
	}
	return nil
}

func (m refits) ofStruct(rt reflect.Type) refit {
	type step struct {
		field int
		do    refit
	}
	var steps []step
	for i := range rt.NumField() {
		f := rt.Field(i)
		if !f.IsExported() || f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue // the kind of an object in an object is a matter of defaults
		}
		do := m.of(f.Type)
		if f.Tag.Get("protobuf") == "" && f.Type.Kind() != reflect.Interface {
			do = refitUnwritten
		}
		if do != nil {
			steps = append(steps, step{i, do})
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return func(v reflect.Value) bool {
		for _, s := range steps {
			if !s.do(v.Field(s.field)) {
				return false
			}
		}
		return true
	}
}

// refitUnwritten is of fields that protobuf does not have.
func refitUnwritten(v reflect.Value) bool {
	if !v.IsZero() {
		v.SetZero()
	}
	return true
}

func refitPointer(elem refit) refit {
	if elem == nil {
		return nil
	}
	return func(v reflect.Value) bool { return v.IsNil() || elem(v.Elem()) }
}

func refitList(elem refit) refit {
	return func(v reflect.Value) bool {
		if v.Len() == 0 && !v.IsNil() {
			v.SetZero()
		}
		if elem == nil {
			return true
		}
		for i := range v.Len() {
			if !elem(v.Index(i)) {
				return false
			}
		}
		return true
	}
}

func refitMap(elem refit) refit {
	return func(v reflect.Value) bool {
		if v.Len() == 0 && !v.IsNil() {
			v.SetZero()
		}
		if elem == nil {
			return true
		}
		for it := v.MapRange(); it.Next(); {
			value := reflect.New(v.Type().Elem()).Elem() // those in a map cannot be set
			value.Set(it.Value())
			if !elem(value) {
				return false
			}
			if !reflect.DeepEqual(value.Interface(), it.Value().Interface()) {
				v.SetMapIndex(it.Key(), value)
			}
		}
		return true
	}
}

// refitListInMap is of lists of scalars in a map, which are never missing.
func refitListInMap(v reflect.Value) bool {
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	return true
}

func refitTime(v reflect.Value) bool {
	t := v.Addr().Interface().(*metav1.Time)
	written := time.Time{}
	if !t.IsZero() {
		written = time.Unix(t.Unix(), 0)
	}
	if t.Time != written {
		t.Time = written
	}
	return true
}

func refitMicroTime(v reflect.Value) bool {
	t := v.Addr().Interface().(*metav1.MicroTime)
	written := time.Time{}
	if !t.IsZero() {
		written = time.Unix(t.Unix(), int64(t.Nanosecond()/1000*1000))
	}
	if t.Time != written {
		t.Time = written
	}
	return true
}
