package untyped

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// managedFieldsName is the field of metadata that Object.Managed replaces.
const managedFieldsName = "managedFields"

// GetManagedFields returns metadata.managedFields; nil if there are none, or if they are
// malformed. The caller must not change them.
func (o *Object) GetManagedFields() []metav1.ManagedFieldsEntry {
	if o.Managed != nil {
		return o.Managed
	}
	return o.Unstructured.GetManagedFields()
}

// SetManagedFields sets metadata.managedFields; nil removes them. The caller must not
// change the memory of entries afterwards.
func (o *Object) SetManagedFields(entries []metav1.ManagedFieldsEntry) {
	o.Managed = nil
	if !o.detachManagedFields(entries) {
		o.Unstructured.SetManagedFields(entries)
	}
}

// detachManagedFields stores entries in o.Managed if they have a canonical form.
func (o *Object) detachManagedFields(entries []metav1.ManagedFieldsEntry) bool {
	meta, ok := o.Object["metadata"].(map[string]any)
	if !ok {
		return false
	}
	kept, ok := canonicalEntries(entries)
	if ok {
		delete(meta, managedFieldsName)
		o.Managed = kept
	}
	return ok
}

// canonicalEntries returns entries in the form in which they would be decoded again: with
// sorted field sets, and times in seconds. ok is false for no entries and for unusual ones.
func canonicalEntries(entries []metav1.ManagedFieldsEntry) (out []metav1.ManagedFieldsEntry, ok bool) {
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
			if second := time.Unix(e.Time.Unix(), 0); second != e.Time.Time {
				e.Time = &metav1.Time{Time: second}
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

// managedFieldsPlan decodes the JSON of managedFields.
var managedFieldsPlan = new(quickjson.Plans).Of(reflect.TypeFor[[]metav1.ManagedFieldsEntry]())

// entriesContent returns detached entries as decoded JSON.
func entriesContent(entries []metav1.ManagedFieldsEntry) []any {
	out := make([]any, len(entries))
	for i := range entries {
		e := &entries[i]
		set, _ := quickjson.ReadPlain(e.FieldsV1.Raw) // canonicalEntries has read it before
		fields := map[string]any{"fieldsV1": set}
		for _, texts := range [...][]entryField{fieldsBeforeSet(e), fieldsAfterSet(e)} {
			for _, t := range texts {
				if t.value != "" {
					fields[t.name] = t.value
				}
			}
		}
		out[i] = fields
	}
	return out
}

// entryField is a string field of an entry.
type entryField struct{ name, value string }

// fieldsBeforeSet returns the fields that are written before fieldsV1, in order.
func fieldsBeforeSet(e *metav1.ManagedFieldsEntry) []entryField {
	return []entryField{{"apiVersion", e.APIVersion}, {"fieldsType", e.FieldsType}}
}

// fieldsAfterSet returns the fields that are written after fieldsV1, in order.
func fieldsAfterSet(e *metav1.ManagedFieldsEntry) []entryField {
	at := ""
	if e.Time != nil {
		at = e.Time.UTC().Format(time.RFC3339)
	}
	return []entryField{{"manager", e.Manager}, {"operation", string(e.Operation)}, {"subresource", e.Subresource}, {"time", at}}
}

// managedFieldsJSON encodes the detached managedFields of an object.
type managedFieldsJSON struct{ *Object }

// AppendJSON implements quickjson.Appender.
func (m managedFieldsJSON) AppendJSON(dst []byte) ([]byte, error) {
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
	for _, t := range fieldsBeforeSet(e) {
		if t.value != "" {
			dst = append(t.append(dst), ',')
		}
	}
	dst = append(append(dst, `"fieldsV1":`...), e.FieldsV1.Raw...)
	for _, t := range fieldsAfterSet(e) {
		if t.value != "" {
			dst = t.append(append(dst, ','))
		}
	}
	return append(dst, '}')
}

func (t entryField) append(dst []byte) []byte {
	return quickjson.AppendString(append(quickjson.AppendString(dst, t.name), ':'), t.value)
}

// metadataJSON encodes the metadata of an object with its detached managedFields.
type metadataJSON struct{ *Object }

// AppendJSON implements quickjson.Appender.
func (m metadataJSON) AppendJSON(dst []byte) ([]byte, error) {
	meta, _ := m.Object.Object["metadata"].(map[string]any)
	return appendWithField(dst, meta, managedFieldsName, managedFieldsJSON(m))
}
