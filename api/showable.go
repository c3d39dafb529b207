package api

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// Protobuf can encode values that JSON cannot: raw JSON fields accept any bytes, and
// times accept any year. An object with such a value could be stored but not be shown,
// and no list of its kind could be encoded any more. The leaves that this file checks
// are the only such values.

// Unshowable returns a function that finds the values of a hub object that some
// representation cannot encode. It returns nil for objects without a Go type, because
// those are decoded from JSON.
func (r *Resource) Unshowable() func(Object) field.ErrorList {
	if r.Untyped {
		return nil
	}
	plan := sync.OnceValue(func() showable { return showables{}.of(reflect.TypeOf(r.New()).Elem()) })
	return func(obj Object) field.ErrorList {
		v := reflect.ValueOf(obj).Elem()
		if fits := plan(); fits == nil || fits(v) {
			return nil
		}
		return unshowable(v, nil)
	}
}

// unshown returns the problem of a leaf, and the value for the error message. The
// problem is empty for a valid leaf.
func unshown(v reflect.Value) (value any, problem string) {
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		if problem = unshownYear(x.Time); problem != "" {
			value = x.String()
		}
	case *metav1.MicroTime:
		if problem = unshownYear(x.Time); problem != "" {
			value = x.String()
		}
	case *intstr.IntOrString:
		if x.Type != intstr.Int && x.Type != intstr.String {
			return int64(x.Type), "must be an integer or a string"
		}
	case *metav1.FieldsV1:
		return omitted, unshownJSON(x.GetRawBytes())
	case *runtime.RawExtension:
		return omitted, unshownJSON(x.Raw)
	case *apiextensionsv1.JSON:
		return omitted, unshownJSON(x.Raw)
	case *float64:
		if math.IsNaN(*x) || math.IsInf(*x, 0) {
			return fmt.Sprint(*x), "must be a finite number"
		}
	}
	return value, problem
}

// omitted replaces values that are too long or not printable in an error message.
const omitted = "<value omitted>"

// unshownYear returns the problem of a time that RFC 3339 cannot represent, because its
// year needs more than four digits or is negative.
func unshownYear(t time.Time) string {
	if s := t.Unix(); s < firstShown || s > lastShown {
		return "must be a time of the years 0 to 9999"
	}
	return ""
}

// First and last second that RFC 3339 can represent.
const (
	firstShown = -62167219200 // 0000-01-01T00:00:00Z
	lastShown  = 253402300799 // 9999-12-31T23:59:59Z
)

// unshownJSON returns the problem of a raw JSON value. No bytes at all encode as null.
func unshownJSON(raw []byte) string {
	if err := bounds.Depth(raw); err != nil {
		return err.Error()
	}
	switch {
	case len(raw) == 0, json.Valid(raw) && utf8.Valid(raw):
		return ""
	case !utf8.Valid(raw):
		return "must be UTF-8"
	}
	var v any
	return fmt.Sprintf("error parsing data as JSON: %v", json.Unmarshal(raw, &v))
}

// isLeaf reports whether unshown checks values of a type.
func isLeaf(rt reflect.Type) bool {
	switch rt {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[intstr.IntOrString](),
		reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[apiextensionsv1.JSON](),
		reflect.TypeFor[float64]():
		return true
	}
	return false
}

// unshowable returns the errors of all leaves in v, which must be addressable.
func unshowable(v reflect.Value, at *field.Path) (errs field.ErrorList) {
	if isLeaf(v.Type()) {
		if value, problem := unshown(v); problem != "" {
			return field.ErrorList{field.Invalid(at, value, problem)}
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return unshowable(v.Elem(), at)
		}
	case reflect.Slice:
		for i := range v.Len() {
			errs = append(errs, unshowable(v.Index(i), at.Index(i))...)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			errs = append(errs, unshowable(settable(it.Value()), at.Key(it.Key().String()))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				below := at
				if name := jsonName(f); name != "" {
					below = at.Child(name)
				}
				errs = append(errs, unshowable(v.Field(i), below)...)
			}
		}
	}
	return errs
}

// settable returns an addressable copy of a map's value.
func settable(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	return out
}

// showable reports whether all leaves of a value can be shown. It is nil for a type
// without leaves.
type showable func(reflect.Value) bool

// showables caches the plans of Go types during the construction of one plan.
type showables map[reflect.Type]*showablePlan

type showablePlan struct {
	holds showable
	made  bool
}

func (m showables) of(rt reflect.Type) showable {
	p := m[rt]
	switch {
	case p == nil:
		p = &showablePlan{}
		m[rt] = p
		p.holds, p.made = m.make(rt), true
	case !p.made: // a recursive type
		return func(v reflect.Value) bool { return p.holds == nil || p.holds(v) }
	}
	return p.holds
}

func (m showables) make(rt reflect.Type) showable {
	switch {
	case rt == reflect.TypeFor[metav1.Time](): // the leaves of all objects
		return func(v reflect.Value) bool { return unshownYear(v.Addr().Interface().(*metav1.Time).Time) == "" }
	case rt == reflect.TypeFor[metav1.FieldsV1]():
		return func(v reflect.Value) bool {
			return unshownJSON(v.Addr().Interface().(*metav1.FieldsV1).GetRawBytes()) == ""
		}
	case isLeaf(rt):
		return func(v reflect.Value) bool { _, problem := unshown(v); return problem == "" }
	}
	switch rt.Kind() {
	case reflect.Pointer:
		if below := m.of(rt.Elem()); below != nil {
			return func(v reflect.Value) bool { return v.IsNil() || below(v.Elem()) }
		}
	case reflect.Slice:
		if below := m.of(rt.Elem()); below != nil {
			return func(v reflect.Value) bool {
				for i := range v.Len() {
					if !below(v.Index(i)) {
						return false
					}
				}
				return true
			}
		}
	case reflect.Map:
		if below := m.of(rt.Elem()); below != nil {
			return func(v reflect.Value) bool {
				for it := v.MapRange(); it.Next(); {
					if !below(settable(it.Value())) {
						return false
					}
				}
				return true
			}
		}
	case reflect.Struct:
		return m.ofStruct(rt)
	}
	return nil
}

func (m showables) ofStruct(rt reflect.Type) showable {
	type step struct {
		field int
		below showable
	}
	var steps []step
	for i := range rt.NumField() {
		if f := rt.Field(i); f.IsExported() {
			if below := m.of(f.Type); below != nil {
				steps = append(steps, step{i, below})
			}
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return func(v reflect.Value) bool {
		for _, s := range steps {
			if !s.below(v.Field(s.field)) {
				return false
			}
		}
		return true
	}
}

// jsonName returns the name of a field in JSON; empty for an inlined struct.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
