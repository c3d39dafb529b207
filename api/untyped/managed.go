package untyped

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/quickjson"
)

// managedFieldsName is the field of metadata that may stand aside.
const managedFieldsName = "managedFields"

// GetManagedFields reads metadata.managedFields; nil when there are none, or when
// they are not what they should be. What it returns must not be changed.
func (o *Object) GetManagedFields() []metav1.ManagedFieldsEntry {
	if o.Managed != nil {
		return o.Managed
	}
	return o.Unstructured.GetManagedFields()
}

// SetManagedFields sets metadata.managedFields; nil takes them away. Nothing that
// entries lead to may be changed any more.
func (o *Object) SetManagedFields(entries []metav1.ManagedFieldsEntry) {
	o.Managed = nil
	if !o.putAside(entries) {
		o.Unstructured.SetManagedFields(entries)
	}
}

// putAside has entries stand aside if they can.
func (o *Object) putAside(entries []metav1.ManagedFieldsEntry) bool {
	meta, ok := o.Object["metadata"].(map[string]any)
	if !ok {
		return false
	}
	kept, ok := inOrder(entries)
	if ok {
		delete(meta, managedFieldsName)
		o.Managed = kept
	}
	return ok
}

// inOrder returns entries as they are read of what is written of them: with fields
// in the order of their names, and times in whole seconds. ok is false of none, and
// of what is unusual.
func inOrder(entries []metav1.ManagedFieldsEntry) (out []metav1.ManagedFieldsEntry, ok bool) {
	if len(entries) == 0 {
		return nil, false
	}
	out = append(make([]metav1.ManagedFieldsEntry, 0, len(entries)), entries...)
	for i := range out {
		e := &out[i]
		if e.FieldsV1 == nil || e.Time != nil && e.Time.IsZero() {
			return nil, false
		}
		if e.Time != nil {
			if is := time.Unix(e.Time.Unix(), 0); is != e.Time.Time {
				e.Time = &metav1.Time{Time: is}
			}
		}
		if !quickjson.Canonical(e.FieldsV1.Raw) {
			set, ok := quickjson.ReadPlain(e.FieldsV1.Raw)
			if !ok {
				return nil, false
			}
			raw, err := quickjson.Exactly(func(dst []byte) ([]byte, error) { return quickjson.Append(dst, set) })
			if err != nil {
				return nil, false
			}
			e.FieldsV1 = &metav1.FieldsV1{Raw: raw}
		}
	}
	return out, true
}

// entriesType reads the text of managedFields.
var entriesType = new(quickjson.Plans).Of(reflect.TypeFor[[]metav1.ManagedFieldsEntry]())

// listOf is entries that stand aside as they would stand in the content.
func listOf(entries []metav1.ManagedFieldsEntry) []any {
	out := make([]any, len(entries))
	for i := range entries {
		e := &entries[i]
		set, _ := quickjson.ReadPlain(e.FieldsV1.Raw) // inOrder has seen to it
		fields := map[string]any{"fieldsV1": set}
		for _, texts := range [...][]text{before(e), after(e)} {
			for _, t := range texts {
				if t.is != "" {
					fields[t.name] = t.is
				}
			}
		}
		out[i] = fields
	}
	return out
}

// text is a field of an entry.
type text struct{ name, is string }

// before and after are the fields on both sides of fieldsV1, in order.
func before(e *metav1.ManagedFieldsEntry) []text {
	return []text{{"apiVersion", e.APIVersion}, {"fieldsType", e.FieldsType}}
}

func after(e *metav1.ManagedFieldsEntry) []text {
	at := ""
	if e.Time != nil {
		at = e.Time.UTC().Format(time.RFC3339)
	}
	return []text{{"manager", e.Manager}, {"operation", string(e.Operation)}, {"subresource", e.Subresource}, {"time", at}}
}

// managed is the managedFields of an object, which stand aside, written in their
// place.
type managed struct{ *Object }

// AppendJSON implements quickjson.Appender.
func (m managed) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, '[')
	for i := range m.Managed {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendEntry(dst, &m.Managed[i])
	}
	return append(dst, ']'), nil
}

func appendEntry(dst []byte, e *metav1.ManagedFieldsEntry) []byte {
	dst = append(dst, '{')
	for _, t := range before(e) {
		if t.is != "" {
			dst = append(t.append(dst), ',')
		}
	}
	dst = append(append(dst, `"fieldsV1":`...), e.FieldsV1.Raw...)
	for _, t := range after(e) {
		if t.is != "" {
			dst = t.append(append(dst, ','))
		}
	}
	return append(dst, '}')
}

func (t text) append(dst []byte) []byte {
	return quickjson.AppendString(append(quickjson.AppendString(dst, t.name), ':'), t.is)
}

// metadata is that of an object whose managedFields stand aside.
type metadata struct{ *Object }

// AppendJSON implements quickjson.Appender.
func (m metadata) AppendJSON(dst []byte) ([]byte, error) {
	meta, _ := m.Object.Object["metadata"].(map[string]any)
	return appendWith(dst, meta, managedFieldsName, managed(m))
}
