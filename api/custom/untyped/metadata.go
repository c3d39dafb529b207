package untyped

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// NormalizeMetadata converts metadata to ObjectMeta and back, and returns the paths of
// unknown fields, which it drops. A field of the wrong type is an error; if lenient is
// true, as for stored objects, such fields are dropped, and only metadata that is not an
// object is an error.
func NormalizeMetadata(value any, lenient bool) (content map[string]any, unknown []string, err error) {
	meta, unknown, err := ReadMetadata(value)
	if err != nil && lenient {
		meta, unknown, err = readValidMetadata(value)
	}
	if err != nil {
		return nil, nil, err
	}
	if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(meta); err != nil {
		return nil, nil, err
	}
	if meta.CreationTimestamp.IsZero() {
		delete(content, "creationTimestamp")
	}
	return content, unknown, nil
}

// readValidMetadata reads the fields of metadata that have the right type.
func readValidMetadata(value any) (*metav1.ObjectMeta, []string, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("invalid metadata: expected object, got %T", value)
	}
	fit := make(map[string]any, len(fields))
	for name, value := range fields {
		if _, _, err := ReadMetadata(map[string]any{name: value}); err == nil {
			fit[name] = value
		}
	}
	return ReadMetadata(fit)
}

// ReadMetadata decodes metadata, and returns the paths of unknown fields.
func ReadMetadata(v any) (meta *metav1.ObjectMeta, unknown []string, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, nil, err
	}
	meta = &metav1.ObjectMeta{}
	strict, err := kjson.UnmarshalStrict(data, meta)
	if err != nil {
		return nil, nil, err
	}
	for _, err := range strict {
		if f, ok := err.(kjson.FieldError); ok {
			unknown = append(unknown, f.FieldPath())
		}
	}
	return meta, unknown, nil
}

// RepairStored drops invalid parts of the metadata of a stored object, since no request
// could be refused for them. It sets the generation of objects that have none.
func (o *Object) RepairStored() error {
	value, ok := o.Object["metadata"]
	if !ok {
		return nil
	}
	meta, ok := value.(map[string]any)
	if !ok || !WellFormed(meta) {
		var err error
		if meta, _, err = NormalizeMetadata(value, true); err != nil {
			return err
		}
		o.Object["metadata"] = meta
	}
	if n, _ := meta["generation"].(int64); n == 0 {
		meta["generation"] = int64(1)
	}
	return nil
}

// MetadataFault returns the error of metadata whose fields do not have the types of ObjectMeta, or nil.
// Only mutating admission can leave such metadata.
func (o *Object) MetadataFault() *field.Error {
	value := o.Object["metadata"]
	meta, ok := value.(map[string]any)
	switch {
	case value == nil || ok && WellFormed(meta):
		return nil
	case !ok:
		return field.Invalid(field.NewPath("metadata"), value, fmt.Sprintf("expected map[string]interface{}, got %T", value))
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(meta, &metav1.ObjectMeta{}); err != nil {
		return field.Invalid(field.NewPath("metadata"), value, err.Error())
	}
	return nil
}

// WellFormed reports whether metadata surely stays the same when it is converted to
// ObjectMeta and back: its fields are known, of the right types, and not empty. It may
// return false for other metadata that stays the same too.
func WellFormed(meta map[string]any) bool {
	for name, value := range meta {
		if fits := metadataFieldChecks[name]; fits == nil || !fits(value) {
			return false
		}
	}
	return true
}

// metadataFieldChecks has a check for the value of each field of ObjectMeta.
var metadataFieldChecks = map[string]func(any) bool{
	"name": isNonEmptyString, "generateName": isNonEmptyString, "namespace": isNonEmptyString, "selfLink": isNonEmptyString,
	"uid": isNonEmptyString, "resourceVersion": isNonEmptyString,
	"generation": isNonZeroInteger, "deletionGracePeriodSeconds": isNonZeroInteger,
	"creationTimestamp": isCanonicalTime, "deletionTimestamp": isCanonicalTime,
	"labels": isStringMap, "annotations": isStringMap,
	"finalizers":      func(v any) bool { return isListOf(v, isNonEmptyString) },
	"ownerReferences": func(v any) bool { return isListOf(v, isOwnerReference) },
	"managedFields":   func(v any) bool { return isListOf(v, isManagedFieldsEntry) },
}

func isNonEmptyString(v any) bool {
	s, ok := v.(string)
	return ok && s != ""
}

// isNonZeroInteger excludes zero, since only some fields are omitted if they are zero.
func isNonZeroInteger(v any) bool {
	n, ok := v.(int64)
	return ok && n != 0
}

// isCanonicalTime reports whether v is a time in the form in which the server writes it.
func isCanonicalTime(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	t, err := time.Parse(time.RFC3339, s)
	var text [len(time.RFC3339)]byte
	return err == nil && !t.IsZero() && string(t.UTC().AppendFormat(text[:0], time.RFC3339)) == s
}

func isStringMap(v any) bool {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return false
	}
	for _, value := range m {
		if _, ok := value.(string); !ok {
			return false
		}
	}
	return true
}

// isListOf reports whether v is a non-empty list of items that fit.
func isListOf(v any, fits func(any) bool) bool {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return false
	}
	for _, item := range list {
		if !fits(item) {
			return false
		}
	}
	return true
}

func isOwnerReference(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	required := 0
	for name, value := range m {
		switch name {
		case "apiVersion", "kind", "name", "uid":
			required++
			_, ok = value.(string)
		case "controller", "blockOwnerDeletion":
			_, ok = value.(bool)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return required == 4
}

func isManagedFieldsEntry(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range m {
		switch name {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			ok = isNonEmptyString(value)
		case "time":
			ok = isCanonicalTime(value)
		case "fieldsV1":
			set, isSet := value.(map[string]any)
			ok = isSet && set != nil
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}
