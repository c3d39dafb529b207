// Package filler generates random objects of Go types, for tests that compare two encodings
// or implementations. It imports no other package of this server.
package filler

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Fill sets v, which must be settable, to a random value: about a third of its fields,
// empty lists and maps, and strings that are hard to encode.
func Fill(random *rand.Rand, v reflect.Value) { (&filler{random}).value(v, 0) }

var awkwardStrings = []string{"", "a", "name", "a b", "<&>", "\"\\\n\t\r", "\x00\x1f\x7f", "é", "\u2028", "\xff",
	"日本", "1", "null", strings.Repeat("x", 100)}

// filler fills values at random.
type filler struct {
	*rand.Rand
}

func (f *filler) isSet() bool { return f.IntN(3) == 0 }

func (f *filler) value(v reflect.Value, depth int) {
	if depth > 12 || !f.isSet() && depth > 1 {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		*x = metav1.Unix(f.Int64N(4e9), 0)
		return
	case *metav1.MicroTime:
		*x = metav1.MicroTime{Time: time.UnixMicro(f.Int64N(4e15)).Local()}
		return
	case *resource.Quantity:
		*x = resource.MustParse(resource.NewMilliQuantity(f.Int64N(1e9), resource.DecimalSI).String())
		return
	case *intstr.IntOrString:
		*x = []intstr.IntOrString{intstr.FromInt32(f.Int32()), intstr.FromString("http")}[f.IntN(2)]
		return
	case *metav1.FieldsV1:
		x.Raw = []byte([]string{"{}", ` {"f:a":{".":{}}} `, `{"k:{\\"a\\":1}":{}}`, `{"<":"é"}`, "null"}[f.IntN(5)])
		return
	case *runtime.RawExtension:
		x.Raw = []byte([]string{"{}", ` [1, 2e3] `, `"<"`, "1.5", `{"a":{"b":[null,true,false]}}`}[f.IntN(5)])
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(awkwardStrings[f.IntN(len(awkwardStrings))])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 1<<31 - 1, -1 << 31}[f.IntN(5)])
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.Uint64N(100))
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, 1.5, -1e21, 1e-7}[f.IntN(5)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.value(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.IntN(3), 3))
		for i := range v.Len() {
			f.value(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(3) {
			key := awkwardStrings[f.IntN(len(awkwardStrings))]
			value := reflect.New(v.Type().Elem()).Elem()
			f.value(value, depth+1)
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.value(v.Field(i), depth+1)
			}
		}
	}
}
