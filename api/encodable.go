package api

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// Protobuf can encode values that JSON cannot: raw JSON fields accept any bytes, and
// times accept any year. An object with such a value could be stored but not be read,
// and no list of its kind could be encoded any more. The types that encodeFaultOf knows
// are the only ones with such values.

// EncodeFaults returns a function that finds the values of a hub object that some
// representation cannot encode. It returns nil for objects without a Go type, because
// those are decoded from JSON.
func (r *Resource) EncodeFaults() func(Object) field.ErrorList {
	if r.IsCustom() {
		return nil
	}
	walk := sync.OnceValue(func() *gotype.Walk[field.ErrorList] {
		return gotype.Compile(reflect.TypeOf(r.New()).Elem(), gotype.Rules[field.ErrorList]{Type: encodeFaultOf})
	})
	return func(obj Object) field.ErrorList { return walk().Visit(reflect.ValueOf(obj).Elem(), nil) }
}

// encodeFaultOf returns the check of values of a type; nil if all of them can be encoded.
func encodeFaultOf(t reflect.Type) (do gotype.Action[field.ErrorList], isLeaf bool) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return reporting(func(x *metav1.Time) (any, string) { return x, yearFault(x.Time) }), true
	case reflect.TypeFor[metav1.MicroTime]():
		return reporting(func(x *metav1.MicroTime) (any, string) { return x, yearFault(x.Time) }), true
	case reflect.TypeFor[intstr.IntOrString]():
		return reporting(intOrStringFault), true
	case reflect.TypeFor[metav1.FieldsV1]():
		return reporting(func(x *metav1.FieldsV1) (any, string) { return omitted, jsonFault(x.GetRawBytes()) }), true
	case reflect.TypeFor[runtime.RawExtension]():
		return reporting(func(x *runtime.RawExtension) (any, string) { return omitted, jsonFault(x.Raw) }), true
	case reflect.TypeFor[apiextensionsv1.JSON]():
		return reporting(func(x *apiextensionsv1.JSON) (any, string) { return omitted, jsonFault(x.Raw) }), true
	case reflect.TypeFor[float64]():
		return reporting(floatFault), true
	}
	return nil, false
}

// reporting returns an action that adds an error for a value with a fault. find returns the
// fault, which is empty for a good value, and the value for the error message.
func reporting[T any](find func(*T) (value any, fault string)) gotype.Action[field.ErrorList] {
	return func(to *gotype.Visitor[field.ErrorList], v reflect.Value) bool {
		if value, fault := find(v.Addr().Interface().(*T)); fault != "" {
			if text, ok := value.(fmt.Stringer); ok {
				value = text.String()
			}
			to.State = append(to.State, field.Invalid(to.Path(), value, fault))
		}
		return false
	}
}

// omitted replaces values that are too long or not printable in an error message.
const omitted = "<value omitted>"

func intOrStringFault(x *intstr.IntOrString) (any, string) {
	if x.Type != intstr.Int && x.Type != intstr.String {
		return int64(x.Type), "must be an integer or a string"
	}
	return nil, ""
}

func floatFault(x *float64) (any, string) {
	if math.IsNaN(*x) || math.IsInf(*x, 0) {
		return fmt.Sprint(*x), "must be a finite number"
	}
	return nil, ""
}

// yearFault returns the fault of a time that RFC 3339 cannot represent, because its
// year needs more than four digits or is negative.
func yearFault(t time.Time) string {
	if s := t.Unix(); s < firstSecond || s > lastSecond {
		return "must be a time of the years 0 to 9999"
	}
	return ""
}

// First and last second that RFC 3339 can represent.
const (
	firstSecond = -62167219200 // 0000-01-01T00:00:00Z
	lastSecond  = 253402300799 // 9999-12-31T23:59:59Z
)

// jsonFault returns the fault of a raw JSON value. No bytes at all encode as null.
func jsonFault(raw []byte) string {
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
