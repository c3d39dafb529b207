package untyped

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/quickjson"
)

// entriesOf reads managedFields, whole or without the fields; ok is false unless all
// is as it should be.
func entriesOf(list []any, whole bool) (out []metav1.ManagedFieldsEntry, ok bool) {
	out = make([]metav1.ManagedFieldsEntry, 0, len(list))
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		e, ok := entryOf(fields, whole)
		if !ok {
			return nil, false
		}
		out = append(out, e)
	}
	return out, true
}

func entryOf(fields map[string]any, whole bool) (e metav1.ManagedFieldsEntry, ok bool) {
	for name, value := range fields {
		if name == "fieldsV1" {
			set, ok := value.(map[string]any)
			if !ok || set == nil {
				return e, false
			}
			if !whole {
				continue
			}
			raw, err := quickjson.Exactly(func(dst []byte) ([]byte, error) { return quickjson.Append(dst, set) })
			if err != nil {
				return e, false
			}
			e.FieldsV1 = &metav1.FieldsV1{Raw: raw}
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

// listOf is entries as they stand in an object; ok is false unless all is as it
// should be.
func listOf(entries []metav1.ManagedFieldsEntry) (out []any, ok bool) {
	if entries == nil {
		return nil, false
	}
	out = make([]any, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.FieldsV1 == nil || e.Time == nil || e.Time.IsZero() {
			return nil, false
		}
		set, ok := quickjson.ReadPlain(e.FieldsV1.Raw)
		if !ok {
			return nil, false
		}
		fields := map[string]any{"fieldsV1": set, "time": e.Time.UTC().Format(time.RFC3339)}
		setText(fields, "manager", e.Manager)
		setText(fields, "operation", string(e.Operation))
		setText(fields, "apiVersion", e.APIVersion)
		setText(fields, "fieldsType", e.FieldsType)
		setText(fields, "subresource", e.Subresource)
		out[i] = fields
	}
	return out, true
}

// setText sets a field unless it would be empty.
func setText(fields map[string]any, name, text string) {
	if text != "" {
		fields[name] = text
	}
}
