// Package untyped has the objects of custom kinds, which have no Go type.
//
// An Object is an unstructured.Unstructured that encodes faster and reads its
// managedFields faster: the library uses reflection for both, which costs more than the
// rest of a write. Field sets are most of the JSON of a small object, so that they are
// kept as text (Object.Managed), and decoded only for callers of UnstructuredContent.
// The package handles ordinary input itself and leaves all other input to the library, so
// that the results are always those of the library.
//
// Package structural applies schemas to objects; package quickjson decodes JSON.
package untyped

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// Object is decoded JSON with apiVersion, kind and metadata: maps, slices, strings,
// int64, float64, bool and nil. Without entries in Managed, Unstructured.Object is
// complete.
type Object struct {
	unstructured.Unstructured
	// Managed has the entries of metadata.managedFields if Unstructured.Object does not
	// have them. The entries are canonical, so that equal field sets have equal texts, and
	// they are never changed.
	Managed []metav1.ManagedFieldsEntry
}

// FromContent returns an object that takes over the given content.
func FromContent(content map[string]any) *Object {
	return &Object{Unstructured: unstructured.Unstructured{Object: content}}
}

// Read decodes an object of any kind, and sets Managed if it can.
func Read(data []byte) (*Object, error) {
	if o, ok := readCanonical(data); ok {
		return o, nil
	}
	content, err := quickjson.Read(data)
	return FromContent(content), err
}

// ReadStrict is like Read, and also returns an error for each duplicate field. It decodes
// null to an empty object.
func ReadStrict(data []byte) (o *Object, strict []error, err error) {
	if o, ok := readCanonical(data); ok {
		return o, nil, nil
	}
	content, strict, err := quickjson.ReadStrict(data)
	if content == nil {
		content = map[string]any{}
	}
	return FromContent(content), strict, err
}

// readCanonical decodes an ordinary object; ok is false for other input.
func readCanonical(data []byte) (o *Object, ok bool) {
	content, text, ok := quickjson.ReadAside(data, "metadata", managedFieldsName)
	if !ok {
		return nil, false
	}
	o = FromContent(content)
	if text == nil {
		return o, true
	}
	var entries []metav1.ManagedFieldsEntry
	return o, managedFieldsPlan.Read(text, &entries) && o.detachManagedFields(entries)
}

// New returns an empty object of a kind.
func New(gvk schema.GroupVersionKind) *Object {
	o := &Object{}
	o.SetGroupVersionKind(gvk)
	return o
}

// DeepCopy returns a copy that shares only the entries of Managed, which are immutable.
func (o *Object) DeepCopy() *Object {
	if o == nil {
		return nil
	}
	return &Object{Unstructured: *o.Unstructured.DeepCopy(), Managed: o.Managed}
}

// DeepCopyObject implements runtime.Object.
func (o *Object) DeepCopyObject() runtime.Object { return o.DeepCopy() }

// NewEmptyInstance returns an empty object of the same kind.
func (o *Object) NewEmptyInstance() runtime.Unstructured { return New(o.GroupVersionKind()) }

// WithKind returns o with another kind. The result shares memory with o.
func (o *Object) WithKind(gvk schema.GroupVersionKind) *Object {
	out := &Object{Unstructured: unstructured.Unstructured{Object: maps.Clone(o.Object)}, Managed: o.Managed}
	out.SetGroupVersionKind(gvk)
	return out
}

// UnstructuredContent returns the content with managedFields. The caller must not change
// it.
func (o *Object) UnstructuredContent() map[string]any {
	if o.Managed == nil {
		return o.Unstructured.UnstructuredContent()
	}
	content := maps.Clone(o.Object)
	old, _ := content["metadata"].(map[string]any)
	meta := make(map[string]any, len(old)+1)
	maps.Copy(meta, old)
	meta[managedFieldsName] = entriesContent(o.Managed)
	content["metadata"] = meta
	return content
}

// SetUnstructuredContent replaces the content of the object.
func (o *Object) SetUnstructuredContent(content map[string]any) { *o = *FromContent(content) }

// Metadata returns metadata with managedFields, for quickjson to encode.
func (o *Object) Metadata() any {
	if o.Managed == nil {
		return o.Object["metadata"]
	}
	return metadataJSON{o}
}

// AppendJSON implements quickjson.Appender.
func (o *Object) AppendJSON(dst []byte) ([]byte, error) {
	if o.Managed == nil {
		return quickjson.Append(dst, o.Object)
	}
	return appendWithField(dst, o.Object, "metadata", o.Metadata())
}

// appendWithField appends the JSON of m with one field set to a value.
func appendWithField(dst []byte, m map[string]any, name string, value any) ([]byte, error) {
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

// MarshalJSON returns the JSON of the content, with sorted fields.
func (o *Object) MarshalJSON() ([]byte, error) { return quickjson.Exactly(o.AppendJSON) }

// UnmarshalJSON decodes an object, which must have a kind.
func (o *Object) UnmarshalJSON(data []byte) error {
	if decoded, ok := readCanonical(data); ok && decoded.GroupVersionKind().Kind != "" {
		*o = *decoded
		return nil
	}
	o.Managed = nil
	return o.Unstructured.UnmarshalJSON(data)
}

// MarshalLine returns the JSON of the content with a newline.
func (o *Object) MarshalLine() ([]byte, error) {
	return quickjson.Exactly(func(dst []byte) ([]byte, error) {
		dst, err := o.AppendJSON(dst)
		return append(dst, '\n'), err
	})
}
