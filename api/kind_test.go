package api

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/table"
)

// TestAnyKind checks that the resource of a kind has every field of the kind, for Kind.any copies them one by one.
func TestAnyKind(t *testing.T) {
	var k Kind[*corev1.ConfigMap]
	v := reflect.ValueOf(&k).Elem()
	for i := range v.NumField() {
		set(v.Field(i))
	}
	k.Table.Row = func(*table.Row, *corev1.ConfigMap) {}
	got := reflect.ValueOf(k.any())
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() {
			t.Errorf("the test does not set %s", name)
		} else if got.FieldByName(name).IsZero() {
			t.Errorf("%s is lost", name)
		}
	}
}

// set sets a value, or the first field of a struct that it can set, to another one than the zero value.
func set(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if set(v.Field(i)); !v.IsZero() {
				return
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), nil))
	case reflect.Interface:
		v.Set(reflect.ValueOf(&Field{}))
	}
}
