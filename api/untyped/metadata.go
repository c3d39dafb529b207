package untyped

import "time"

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
	return err == nil && !t.IsZero() && t.UTC().Format(time.RFC3339) == s
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
	if !ok || m["time"] != nil && !isTime(m["time"]) {
		return false
	}
	_, ok = entryOf(m)
	return ok
}
