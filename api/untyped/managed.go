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
	meta, _ := o.Object["metadata"].(map[string]any)
	list, ok := meta[managedFieldsName].([]any)
	if !ok {
		return nil
	}
	if entries, ok := entriesOf(list); ok {
		return entries
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

// liftManaged has managedFields stand aside if the content has some and they can.
func (o *Object) liftManaged() {
	meta, _ := o.Object["metadata"].(map[string]any)
	if list, ok := meta[managedFieldsName].([]any); ok {
		if entries, ok := entriesOf(list); ok {
			o.putAside(entries)
		}
	}
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
			if e.FieldsV1, ok = fieldsOf(set); !ok {
				return nil, false
			}
		}
	}
	return out, true
}

// fieldsOf is the text of a set of fields.
func fieldsOf(set map[string]any) (*metav1.FieldsV1, bool) {
	raw, err := quickjson.Exactly(func(dst []byte) ([]byte, error) { return quickjson.Append(dst, set) })
	return &metav1.FieldsV1{Raw: raw}, err == nil
}

// entriesType reads the text of managedFields.
var entriesType = new(quickjson.Plans).Of(reflect.TypeFor[[]metav1.ManagedFieldsEntry]())

// entriesOf reads managedFields; ok is false unless all is as it should be.
func entriesOf(list []any) (out []metav1.ManagedFieldsEntry, ok bool) {
	out = make([]metav1.ManagedFieldsEntry, 0, len(list))
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		e, ok := entryOf(fields)
		if !ok {
			return nil, false
		}
		out = append(out, e)
	}
	return out, true
}

func entryOf(fields map[string]any) (e metav1.ManagedFieldsEntry, ok bool) {
	for name, value := range fields {
		if name == "fieldsV1" {
			set, ok := value.(map[string]any)
			if !ok || set == nil {
				return e, false
			}
			if e.FieldsV1, ok = fieldsOf(set); !ok {
				return e, false
			}
			continue
		}
		text, ok := value.(string)
		if !ok || text == "" {
			return e, false
		}
		switch name {
		case "manager":
			e.Manager = text
		case "operation":
			e.Operation = metav1.ManagedFieldsOperationType(text)
		case "apiVersion":
			e.APIVersion = text
		case "fieldsType":
			e.FieldsType = text
		case "subresource":
			e.Subresource = text
		case "time":
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return e, false
			}
			e.Time = &metav1.Time{Time: t.Local()}
		default:
			return e, false
		}
	}
	return e, true
}

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
	var room [16]quickjson.Field
	fields := append(room[:0], quickjson.Field{Name: managedFieldsName, Value: managed(m)})
	for name, value := range meta {
		fields = append(fields, quickjson.Field{Name: name, Value: value})
	}
	quickjson.SortFields(fields)
	return quickjson.AppendFields(dst, fields)
}
