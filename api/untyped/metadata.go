package untyped

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// Metadata makes of metadata, as an object has it, what its type can hold, and
// returns the paths of fields that the type has not. Fields of the wrong type are
// an error; a lenient caller, who reads what is stored already, has them dropped,
// and then nothing but metadata that is no object is an error.
func Metadata(was any, lenient bool) (is map[string]any, unknown []string, err error) {
	meta, unknown, err := ReadMetadata(was)
	if err != nil && lenient {
		meta, unknown, err = salvage(was)
	}
	if err != nil {
		return nil, nil, err
	}
	if is, err = runtime.DefaultUnstructuredConverter.ToUnstructured(meta); err != nil {
		return nil, nil, err
	}
	if meta.CreationTimestamp.IsZero() {
		delete(is, "creationTimestamp")
	}
	return is, unknown, nil
}

// salvage reads those fields of metadata that can be read.
func salvage(was any) (*metav1.ObjectMeta, []string, error) {
	fields, ok := was.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("invalid metadata: expected object, got %T", was)
	}
	fit := make(map[string]any, len(fields))
	for name, value := range fields {
		if _, _, err := ReadMetadata(map[string]any{name: value}); err == nil {
			fit[name] = value
		}
	}
	return ReadMetadata(fit)
}

// ReadMetadata reads metadata, and returns the paths of fields that it has not.
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

// MendStored makes what is stored as an object's metadata what its type can hold;
// what does not fit is dropped, for there is nobody to refuse it to. Objects from
// before there were generations have the first.
func (o *Object) MendStored() error {
	was, ok := o.Object["metadata"]
	if !ok {
		return nil
	}
	meta, ok := was.(map[string]any)
	if !ok || !WellFormed(meta) {
		var err error
		if meta, _, err = Metadata(was, true); err != nil {
			return err
		}
		o.Object["metadata"] = meta
	}
	if n, _ := meta["generation"].(int64); n == 0 {
		meta["generation"] = int64(1)
	}
	return nil
}

// WellFormed tells whether metadata, which a client sent, is surely what its type
// would make of it: fields are known, of the right types, and not empty. What it
// is false of may be in order all the same.
func WellFormed(meta map[string]any) bool {
	for name, value := range meta {
		if fits := forms[name]; fits == nil || !fits(value) {
			return false
		}
	}
	return true
}

// forms are those of the fields of ObjectMeta.
var forms = map[string]func(any) bool{
	"name": isText, "generateName": isText, "namespace": isText, "selfLink": isText, "uid": isText, "resourceVersion": isText,
	"generation": isCount, "deletionGracePeriodSeconds": isCount,
	"creationTimestamp": isTime, "deletionTimestamp": isTime,
	"labels": isTexts, "annotations": isTexts,
	"finalizers":      func(v any) bool { return each(v, isText) },
	"ownerReferences": func(v any) bool { return each(v, isOwner) },
	"managedFields":   func(v any) bool { return each(v, isEntry) },
}

func isText(v any) bool {
	s, ok := v.(string)
	return ok && s != ""
}

// isCount: zero is left out of some and kept in others.
func isCount(v any) bool {
	n, ok := v.(int64)
	return ok && n != 0
}

// isTime tells of a time that is written as the server writes it.
func isTime(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	t, err := time.Parse(time.RFC3339, s)
	var text [len(time.RFC3339)]byte
	return err == nil && !t.IsZero() && string(t.UTC().AppendFormat(text[:0], time.RFC3339)) == s
}

func isTexts(v any) bool {
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

// each tells whether v is a list of some that fit.
func each(v any, fits func(any) bool) bool {
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

func isOwner(v any) bool {
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

func isEntry(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range m {
		switch name {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			ok = isText(value)
		case "time":
			ok = isTime(value)
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
