package api

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// BodyChanged reports whether fields outside metadata and status differ. It is the Generation of most kinds.
func BodyChanged[T Object](obj, old T) bool {
	if u, ok := any(obj).(*untyped.Object); ok {
		return contentChanged(u.Object, any(old).(*untyped.Object).Object)
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

// contentChanged is BodyChanged for objects without a Go type.
func contentChanged(content, old map[string]any) bool {
	for _, m := range []map[string]any{content, old} {
		for name := range m {
			switch name {
			case "apiVersion", "kind", "metadata", "status":
				continue
			}
			if !equality.Semantic.DeepEqual(content[name], old[name]) {
				return true
			}
		}
	}
	return false
}

// BodyDiffers is the Generation of kinds for which an empty list or map is another value
// than a missing one.
func BodyDiffers[T Object](obj, old T) bool {
	a, b := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
	for i := range a.NumField() {
		switch a.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
			continue
		}
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return true
		}
	}
	return false
}

// NeverChanges is the Generation of kinds whose generation stays 1.
func NeverChanges[T Object](_, _ T) bool { return false }

// KeepMetadataOf restores the metadata of old except managedFields, for status subresources
// that don't change metadata.
func KeepMetadataOf[T Object](obj, old T) {
	managed := obj.GetManagedFields()
	obj.SetLabels(old.GetLabels())
	obj.SetAnnotations(old.GetAnnotations())
	obj.SetFinalizers(old.GetFinalizers())
	obj.SetOwnerReferences(old.GetOwnerReferences())
	obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	obj.SetManagedFields(managed)
}
