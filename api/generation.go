package api

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/untyped"
)

// Bumps tells whether the difference between obj and old counts in
// metadata.generation. It looks at what is left after PrepareUpdate.
func (r *Resource) Bumps(obj, old Object) bool {
	if !r.Generation {
		return false
	}
	if r.Changed != nil {
		return r.Changed(obj, old)
	}
	return bodyChanged(obj, old)
}

// bodyChanged compares what is outside metadata and status.
func bodyChanged(obj, old Object) bool {
	if u, ok := obj.(*untyped.Object); ok {
		return contentChanged(u.Object, old.(*untyped.Object).Object)
	}
	a, b := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
	for i := range a.NumField() {
		switch a.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
			continue
		}
		if !equality.Semantic.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return true
		}
	}
	return false
}

// contentChanged is bodyChanged for what has no Go type.
func contentChanged(is, was map[string]any) bool {
	for _, m := range []map[string]any{is, was} {
		for name := range m {
			switch name {
			case "apiVersion", "kind", "metadata", "status":
				continue
			}
			if !equality.Semantic.DeepEqual(is[name], was[name]) {
				return true
			}
		}
	}
	return false
}

// never is the Changed of kinds whose generation is 1 for ever.
func never(_, _ Object) bool { return false }

// keepMetadataOf is for status subresources that leave all metadata alone but
// who manages which fields.
func keepMetadataOf(obj, old Object) {
	managed := obj.GetManagedFields()
	obj.SetLabels(old.GetLabels())
	obj.SetAnnotations(old.GetAnnotations())
	obj.SetFinalizers(old.GetFinalizers())
	obj.SetOwnerReferences(old.GetOwnerReferences())
	obj.SetManagedFields(managed)
}
