// Package untyped has the objects of kinds without a Go type: those that arrive
// at run time. An Object is what the libraries call unstructured, decoded JSON,
// with quick ways to write it and to get at its managedFields: the libraries' go
// through reflection, and cost more than all else that a write of such an object
// takes. Most of the JSON of a small object are the sets of fields in its
// managedFields, so that they stand aside as text, and are read only by those who
// ask for the whole content. Wherever an input is out of the ordinary the library
// is asked, so that what comes out is always the library's.
//
// The package knows nothing of schemas, which are package structural's. Package
// quickjson reads the JSON.
package untyped

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/quickjson"
)

// Object is decoded JSON with apiVersion, kind and metadata: maps, slices,
// strings, int64, float64, bool and nil. Where it has no entries in Managed,
// Unstructured.Object is all of it.
type Object struct {
	unstructured.Unstructured
	// Managed are metadata.managedFields that stand aside: Unstructured.Object has
	// none then. They are as they would be read of what is written of them, so that
	// equal ones have equal texts, and are never changed.
	Managed []metav1.ManagedFieldsEntry
}

// Of is an object with a content, which becomes the object's.
func Of(content map[string]any) *Object {
	return &Object{Unstructured: unstructured.Unstructured{Object: content}}
}

// Read decodes an object of any kind. Managed fields that are in order stand aside.
func Read(data []byte) (*Object, error) {
	if o, ok := readPlain(data); ok {
		return o, nil
	}
	content, err := quickjson.Read(data)
	return Of(content), err
}

// ReadStrict is Read, which also tells of fields that are there twice. What is null
// is an object with nothing in it.
func ReadStrict(data []byte) (o *Object, strict []error, err error) {
	if o, ok := readPlain(data); ok {
		return o, nil, nil
	}
	content, strict, err := quickjson.ReadStrict(data)
	if content == nil {
		content = map[string]any{}
	}
	return Of(content), strict, err
}

// readPlain reads what is in order.
func readPlain(data []byte) (*Object, bool) {
	content, text, ok := quickjson.ReadAside(data, "metadata", managedFieldsName)
	if !ok {
		return nil, false
	}
	o := Of(content)
	if text == nil {
		return o, true
	}
	var entries []metav1.ManagedFieldsEntry
	return o, entriesType.Read(text, &entries) && o.putAside(entries)
}

// New is an object of a kind with nothing in it.
func New(gvk schema.GroupVersionKind) *Object {
	o := &Object{}
	o.SetGroupVersionKind(gvk)
	return o
}

// DeepCopy shares no memory with o but what nobody changes.
func (o *Object) DeepCopy() *Object {
	if o == nil {
		return nil
	}
	return &Object{Unstructured: *o.Unstructured.DeepCopy(), Managed: o.Managed}
}

// DeepCopyObject is DeepCopy.
func (o *Object) DeepCopyObject() runtime.Object { return o.DeepCopy() }

// NewEmptyInstance makes an empty object of the same kind.
func (o *Object) NewEmptyInstance() runtime.Unstructured { return New(o.GroupVersionKind()) }

// As is o with another kind. It shares the memory of all that it has.
func (o *Object) As(gvk schema.GroupVersionKind) *Object {
	out := &Object{Unstructured: unstructured.Unstructured{Object: maps.Clone(o.Object)}, Managed: o.Managed}
	out.SetGroupVersionKind(gvk)
	return out
}

// UnstructuredContent is the content with managedFields. It must not be changed.
func (o *Object) UnstructuredContent() map[string]any {
	if o.Managed == nil {
		return o.Unstructured.UnstructuredContent()
	}
	content := maps.Clone(o.Object)
	was, _ := content["metadata"].(map[string]any)
	meta := make(map[string]any, len(was)+1)
	maps.Copy(meta, was)
	meta[managedFieldsName] = listOf(o.Managed)
	content["metadata"] = meta
	return content
}

// SetUnstructuredContent makes content the object's.
func (o *Object) SetUnstructuredContent(content map[string]any) { *o = *Of(content) }

// Metadata is metadata with managedFields, for quickjson to write.
func (o *Object) Metadata() any {
	if o.Managed == nil {
		return o.Object["metadata"]
	}
	return metadata{o}
}

// AppendJSON implements quickjson.Appender.
func (o *Object) AppendJSON(dst []byte) ([]byte, error) {
	if o.Managed == nil {
		return quickjson.Append(dst, o.Object)
	}
	return appendWith(dst, o.Object, "metadata", o.Metadata())
}

// appendWith appends the JSON of m with a value in a field.
func appendWith(dst []byte, m map[string]any, name string, value any) ([]byte, error) {
	var room [16]quickjson.Field
	fields := append(room[:0], quickjson.Field{Name: name, Value: value})
	for other, value := range m {
		if other != name {
			fields = append(fields, quickjson.Field{Name: other, Value: value})
		}
	}
	quickjson.SortFields(fields)
	return quickjson.AppendFields(dst, fields)
}

// MarshalJSON writes the content, with fields in the order of their names.
func (o *Object) MarshalJSON() ([]byte, error) { return quickjson.Exactly(o.AppendJSON) }

// UnmarshalJSON reads an object, which must say its kind.
func (o *Object) UnmarshalJSON(data []byte) error {
	if is, ok := readPlain(data); ok && is.GroupVersionKind().Kind != "" {
		*o = *is
		return nil
	}
	o.Managed = nil
	return o.Unstructured.UnmarshalJSON(data)
}

// Line is the JSON of the content with the end of a line behind it.
func (o *Object) Line() ([]byte, error) {
	return quickjson.Exactly(func(dst []byte) ([]byte, error) {
		dst, err := o.AppendJSON(dst)
		return append(dst, '\n'), err
	})
}
