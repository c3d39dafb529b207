package api

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// roundTripOf returns a walk that changes an object in place into the object that encoding to
// protobuf and decoding would return: empty lists and maps become nil, and times lose the digits
// that are not encoded. It writes only to fields that differ. The state of a visit becomes false if
// the result is unknown.
func roundTripOf(t reflect.Type) *gotype.Walk[bool] {
	return gotype.Compile(t, gotype.Rules[bool]{Type: roundTripType, Field: roundTripField})
}

func roundTripType(t reflect.Type) (do gotype.Action[bool], isLeaf bool) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return roundTripTime, true
	case reflect.TypeFor[metav1.MicroTime]():
		return roundTripMicroTime, true
	case reflect.TypeFor[metav1.TypeMeta](): // Default sets the kind of nested objects
		return nil, true
	case reflect.TypeFor[resource.Quantity]():
		return nil, true
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil, true
		}
		return clearEmpty, false
	case reflect.Map:
		if t.Elem().Kind() == reflect.Slice {
			return roundTripMapOfLists, true
		}
		return clearEmpty, false
	case reflect.Interface:
		return func(to *gotype.Visitor[bool], v reflect.Value) bool {
			to.State = to.State && v.IsNil()
			return false
		}, true
	}
	return nil, false
}

// roundTripField clears a field that has no protobuf encoding.
func roundTripField(_ reflect.Type, f *gotype.Field) gotype.Action[bool] {
	if f.Number > 0 || f.Type == reflect.TypeFor[metav1.TypeMeta]() || f.Type.Kind() == reflect.Interface {
		return nil
	}
	return func(_ *gotype.Visitor[bool], v reflect.Value) bool { return clearIf(!v.IsZero(), v) }
}

// clearIf sets a value that differs from the result to its zero value.
func clearIf(differs bool, v reflect.Value) bool {
	if differs {
		v.SetZero()
	}
	return differs
}

// clearEmpty replaces an empty list or map by nil.
func clearEmpty(_ *gotype.Visitor[bool], v reflect.Value) bool {
	return clearIf(v.Len() == 0 && !v.IsNil(), v)
}

// roundTripMapOfLists replaces nil lists of scalars in a map by empty ones.
func roundTripMapOfLists(to *gotype.Visitor[bool], v reflect.Value) bool {
	changed := clearEmpty(to, v)
	for it := v.MapRange(); it.Next(); {
		if it.Value().IsNil() {
			v.SetMapIndex(it.Key(), reflect.MakeSlice(v.Type().Elem(), 0, 0))
			changed = true
		}
	}
	return changed
}

func roundTripTime(_ *gotype.Visitor[bool], v reflect.Value) bool {
	t := v.Addr().Interface().(*metav1.Time)
	encoded := time.Time{}
	if !t.IsZero() {
		encoded = time.Unix(t.Unix(), 0)
	}
	return setTime(&t.Time, encoded)
}

func roundTripMicroTime(_ *gotype.Visitor[bool], v reflect.Value) bool {
	t := v.Addr().Interface().(*metav1.MicroTime)
	encoded := time.Time{}
	if !t.IsZero() {
		encoded = time.Unix(t.Unix(), int64(t.Nanosecond()/1000*1000))
	}
	return setTime(&t.Time, encoded)
}

// setTime sets a time that differs.
func setTime(t *time.Time, encoded time.Time) bool {
	if *t == encoded {
		return false
	}
	*t = encoded
	return true
}
