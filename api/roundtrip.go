package api

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// roundTrip changes an addressable value in place into the value that encoding to protobuf and
// decoding would return: empty lists and maps become nil, and times lose the digits that are
// not encoded. It writes only to fields that differ, and returns false if it cannot compute the
// result. A nil roundTrip means that values of the type don't change.
type roundTrip func(reflect.Value) bool

// roundTrips caches the functions of Go types.
type roundTrips map[reflect.Type]roundTrip

// roundTripOf returns the roundTrip of a Go type.
func roundTripOf(rt reflect.Type) roundTrip { return roundTrips{}.of(rt) }

func (m roundTrips) of(rt reflect.Type) roundTrip {
	if known, ok := m[rt]; ok {
		return known
	}
	m[rt] = unknownRoundTrip // for a recursive type
	known := m.make(rt)
	m[rt] = known
	return known
}

func unknownRoundTrip(reflect.Value) bool { return false }

func (m roundTrips) make(rt reflect.Type) roundTrip {
	switch rt {
	case reflect.TypeFor[metav1.Time]():
		return roundTripTime
	case reflect.TypeFor[metav1.MicroTime]():
		return roundTripMicroTime
	case reflect.TypeFor[resource.Quantity]():
		return nil
	}
	switch rt.Kind() {
	case reflect.Pointer:
		return roundTripPointer(m.of(rt.Elem()))
	case reflect.Struct:
		return m.ofStruct(rt)
	case reflect.Slice:
		if rt.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		return roundTripList(m.of(rt.Elem()))
	case reflect.Map:
		if rt.Elem().Kind() == reflect.Slice {
			return roundTripMap(roundTripListInMap)
		}
		return roundTripMap(m.of(rt.Elem()))
	case reflect.Interface:
		return func(v reflect.Value) bool { return v.IsNil() }
	}
	return nil
}

func (m roundTrips) ofStruct(rt reflect.Type) roundTrip {
	type step struct {
		field int
		do    roundTrip
	}
	var steps []step
	for i := range rt.NumField() {
		f := rt.Field(i)
		if !f.IsExported() || f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			continue // Default sets the kind of nested objects
		}
		do := m.of(f.Type)
		if f.Tag.Get("protobuf") == "" && f.Type.Kind() != reflect.Interface {
			do = clearUnencoded
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

// clearUnencoded clears a field that has no protobuf encoding.
func clearUnencoded(v reflect.Value) bool {
	if !v.IsZero() {
		v.SetZero()
	}
	return true
}

func roundTripPointer(elem roundTrip) roundTrip {
	if elem == nil {
		return nil
	}
	return func(v reflect.Value) bool { return v.IsNil() || elem(v.Elem()) }
}

func roundTripList(elem roundTrip) roundTrip {
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

func roundTripMap(elem roundTrip) roundTrip {
	return func(v reflect.Value) bool {
		if v.Len() == 0 && !v.IsNil() {
			v.SetZero()
		}
		if elem == nil {
			return true
		}
		for it := v.MapRange(); it.Next(); {
			value := reflect.New(v.Type().Elem()).Elem() // values in a map are not addressable
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

// roundTripListInMap replaces a nil list of scalars in a map by an empty one.
func roundTripListInMap(v reflect.Value) bool {
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	return true
}

func roundTripTime(v reflect.Value) bool {
	t := v.Addr().Interface().(*metav1.Time)
	encoded := time.Time{}
	if !t.IsZero() {
		encoded = time.Unix(t.Unix(), 0)
	}
	if t.Time != encoded {
		t.Time = encoded
	}
	return true
}

func roundTripMicroTime(v reflect.Value) bool {
	t := v.Addr().Interface().(*metav1.MicroTime)
	encoded := time.Time{}
	if !t.IsZero() {
		encoded = time.Unix(t.Unix(), int64(t.Nanosecond()/1000*1000))
	}
	if t.Time != encoded {
		t.Time = encoded
	}
	return true
}
