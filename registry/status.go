package registry

import (
	"maps"
	"reflect"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// An object is metadata, status and the rest. For Go types the parts are the
// struct's fields, which the kinds of the API conventions all name alike.

func fieldsOf(obj api.Object) (v reflect.Value, status reflect.Value) {
	v = reflect.ValueOf(obj).Elem()
	return v, v.FieldByName("Status")
}

// resetStatus empties the status of obj.
func resetStatus(obj api.Object) {
	if u, ok := obj.(*untyped.Object); ok {
		delete(u.Object, "status")
		return
	}
	if _, status := fieldsOf(obj); status.IsValid() {
		status.SetZero()
	}
}

// copyStatus gives obj the status of from, sharing its memory.
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

// setOrDelete makes a field of m what it is in from.
func setOrDelete(m map[string]any, name string, from map[string]any) {
	if v, ok := from[name]; ok {
		m[name] = v
	} else {
		delete(m, name)
	}
}

// restoreAllButStatus makes obj what old is, apart from status and metadata.
func restoreAllButStatus(obj, old api.Object) {
	if u, ok := obj.(*untyped.Object); ok {
		all := maps.Clone(old.(*untyped.Object).Object)
		setOrDelete(all, "metadata", u.Object)
		setOrDelete(all, "status", u.Object)
		u.Object = all
		return
	}
	v, status := fieldsOf(obj)
	was, _ := fieldsOf(old)
	meta := v.FieldByName("ObjectMeta").Interface()
	keep := status.Interface()
	v.Set(was)
	v.FieldByName("ObjectMeta").Set(reflect.ValueOf(meta))
	status.Set(reflect.ValueOf(keep))
}
