// Package untyped has the objects of kinds without a Go type: those that arrive
// at run time. An Object is what the libraries call unstructured, decoded JSON,
// with quick ways to write it and to get at its managedFields: the libraries' go
// through reflection, and cost more than all else that a write of such an object
// takes. Wherever an input is out of the ordinary the library is asked, so that
// what comes out is always the library's.
//
// The package knows nothing of schemas, which are package structural's. Package
// quickjson reads the JSON.
package untyped

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/quickjson"
)

// Object is decoded JSON with apiVersion, kind and metadata: maps, slices,
// strings, int64, float64, bool and nil.
type Object struct{ unstructured.Unstructured }

// Of is an object with a content, which becomes the object's.
func Of(content map[string]any) *Object {
	return &Object{unstructured.Unstructured{Object: content}}
}

// New is an object of a kind with nothing in it.
func New(gvk schema.GroupVersionKind) *Object {
	o := &Object{}
	o.SetGroupVersionKind(gvk)
	return o
}

// DeepCopy shares no memory with o.
func (o *Object) DeepCopy() *Object {
	if o == nil {
		return nil
	}
	return &Object{*o.Unstructured.DeepCopy()}
}

// DeepCopyObject is DeepCopy.
func (o *Object) DeepCopyObject() runtime.Object { return o.DeepCopy() }

// NewEmptyInstance makes an empty object of the same kind.
func (o *Object) NewEmptyInstance() runtime.Unstructured { return New(o.GroupVersionKind()) }

// MarshalJSON writes the content, with fields in the order of their names.
func (o *Object) MarshalJSON() ([]byte, error) {
	return quickjson.Exactly(func(dst []byte) ([]byte, error) { return quickjson.Append(dst, o.Object) })
}

// Line is the JSON of the content with the end of a line behind it.
func (o *Object) Line() ([]byte, error) {
	return quickjson.Exactly(func(dst []byte) ([]byte, error) {
		dst, err := quickjson.Append(dst, o.Object)
		return append(dst, '\n'), err
	})
}

// GetManagedFields reads metadata.managedFields; nil when there are none, or when
// they are not what they should be.
func (o *Object) GetManagedFields() []metav1.ManagedFieldsEntry {
	return o.managedFields(true)
}

// Managers is GetManagedFields without the fields themselves, of which text would
// have to be made.
func (o *Object) Managers() []metav1.ManagedFieldsEntry { return o.managedFields(false) }

func (o *Object) managedFields(whole bool) []metav1.ManagedFieldsEntry {
	meta, _ := o.Object["metadata"].(map[string]any)
	list, ok := meta["managedFields"].([]any)
	if !ok {
		return nil
	}
	if entries, ok := entriesOf(list, whole); ok {
		return entries
	}
	return o.Unstructured.GetManagedFields()
}

// SetManagedFields sets metadata.managedFields; nil takes them away.
func (o *Object) SetManagedFields(entries []metav1.ManagedFieldsEntry) {
	if list, ok := listOf(entries); ok {
		if meta, ok := o.Object["metadata"].(map[string]any); ok {
			meta["managedFields"] = list
			return
		}
	}
	o.Unstructured.SetManagedFields(entries)
}
