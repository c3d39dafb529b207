package registry

import (
	"reflect"

	"github.com/miniapiserver/miniapiserver/api"
)

// An object is metadata, status and the rest. For Go types the parts are the
// struct's fields, which the kinds of the API conventions all name alike.

func fieldsOf(obj api.Object) (v reflect.Value, status reflect.Value) {
	v = reflect.ValueOf(obj).Elem()
	return v, v.FieldByName("Status")
}

// resetStatus empties the status of obj.
func resetStatus(obj api.Object) {
	if _, status := fieldsOf(obj); status.IsValid() {
		status.SetZero()
	}
}

// copyStatus gives obj the status of from, sharing its memory.
func copyStatus(obj, from api.Object) {
	_, to := fieldsOf(obj)
	_, status := fieldsOf(from)
	if to.IsValid() {
		to.Set(status)
	}
}

// takeAllButStatus makes obj what old is, apart from status and metadata.
func takeAllButStatus(obj, old api.Object) {
	v, status := fieldsOf(obj)
	was, _ := fieldsOf(old)
	meta := v.FieldByName("ObjectMeta").Interface()
	keep := status.Interface()
	v.Set(was)
	v.FieldByName("ObjectMeta").Set(reflect.ValueOf(meta))
	status.Set(reflect.ValueOf(keep))
}
