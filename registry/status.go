package registry

import (
	"maps"
	"reflect"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// fieldsOf returns the struct of obj and its field Status, as the API conventions name it.
// The status is not valid if the kind has none.
func fieldsOf(obj api.Object) (v reflect.Value, status reflect.Value) {
	v = reflect.ValueOf(obj).Elem()
	return v, v.FieldByName("Status")
}

// resetStatus clears the status of obj.
func resetStatus(obj api.Object) {
	if u, ok := obj.(*untyped.Object); ok {
		delete(u.Object, "status")
		return
	}
	if _, status := fieldsOf(obj); status.IsValid() {
		status.SetZero()
	}
}

// copyStatus sets the status of obj to that of from. The two share memory afterwards.
func copyStatus(obj, from api.Object) {
	if u, ok := obj.(*untyped.Object); ok {
		setOrDelete(u.Object, "status", from.(*untyped.Object).Object)
		return
	}
	_, to := fieldsOf(obj)
	_, status := fieldsOf(from)
	if to.IsValid() {
		to.Set(status)
	}
}

// setOrDelete sets a field of m to its value in from, or deletes it if from has none.
func setOrDelete(m map[string]any, name string, from map[string]any) {
	if v, ok := from[name]; ok {
		m[name] = v
	} else {
		delete(m, name)
	}
}

// restoreAllButStatus sets all of obj but its status and metadata to the values of old.
func restoreAllButStatus(obj, old api.Object) {
	if u, ok := obj.(*untyped.Object); ok {
		all := maps.Clone(old.(*untyped.Object).Object)
		setOrDelete(all, "metadata", u.Object)
		setOrDelete(all, "status", u.Object)
		u.Object = all
		return
	}
	v, status := fieldsOf(obj)
	oldValue, _ := fieldsOf(old)
	meta := v.FieldByName("ObjectMeta").Interface()
	keep := status.Interface()
	v.Set(oldValue)
	v.FieldByName("ObjectMeta").Set(reflect.ValueOf(meta))
	status.Set(reflect.ValueOf(keep))
}
