package document

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// owner is an entry of managedFields with its decoded fields.
type owner struct {
	fields map[string]any
	entry  *metav1.ManagedFieldsEntry
}

// managedFields returns the owners of the fields of an object, the newest first.
func managedFields(object map[string]any) []owner {
	metadata, _ := object["metadata"].(map[string]any)
	var entries []metav1.ManagedFieldsEntry
	if json.Unmarshal([]byte(encode(metadata["managedFields"])), &entries) != nil {
		return nil // objects of other servers may have anything
	}
	var owners []owner
	for i := range entries {
		o := owner{entry: &entries[i]}
		if entries[i].FieldsV1 != nil && json.Unmarshal(entries[i].FieldsV1.Raw, &o.fields) == nil {
			owners = append(owners, o)
		}
	}
	slices.SortStableFunc(owners, func(a, b owner) int {
		switch {
		case a.entry.Time == nil || b.entry.Time == nil:
			return 0
		}
		return b.entry.Time.Compare(a.entry.Time.Time)
	})
	return owners
}

// own notes an owner for the values that it owns and that have no origin.
func (n *node) own(value any, fields map[string]any, entry *metav1.ManagedFieldsEntry) {
	if n.origin == (Origin{}) {
		n.origin.Owner = entry
	}
	for name, rest := range fields {
		inner, _ := rest.(map[string]any)
		if child, childValue := n.owned(value, name); child != nil {
			child.own(childValue, inner, entry)
			if len(inner) == 0 {
				child.ownAll(entry)
			}
		}
	}
}

// ownAll notes an owner for the values in one that is owned as a whole.
func (n *node) ownAll(entry *metav1.ManagedFieldsEntry) {
	if n.origin == (Origin{}) {
		n.origin.Owner = entry
	}
	for _, child := range n.fields {
		child.ownAll(entry)
	}
	for _, child := range n.elements {
		child.ownAll(entry)
	}
}

// owned returns the value that an element of a path in managedFields names: f:FIELD, k:KEYS, v:VALUE or i:INDEX.
func (n *node) owned(value any, name string) (*node, any) {
	kind, text, _ := strings.Cut(name, ":")
	if kind == "f" {
		fields, _ := value.(map[string]any)
		return n.fields[text], fields[text]
	}
	list, _ := value.([]any)
	var want any
	if json.Unmarshal([]byte(text), &want) != nil {
		return nil, nil
	}
	for i, element := range list {
		keys, _ := want.(map[string]any)
		fields, _ := element.(map[string]any)
		switch {
		case kind == "k" && len(keys) > 0 && isSubset(keys, fields),
			kind == "v" && reflect.DeepEqual(want, element), kind == "i" && reflect.DeepEqual(want, int64(i)):
			return n.elements[i], element
		}
	}
	return nil, nil
}

func isSubset(keys, fields map[string]any) bool {
	for name, value := range keys {
		if !reflect.DeepEqual(fields[name], value) {
			return false
		}
	}
	return true
}

// WithoutManagedFields returns an object without its managedFields.
func WithoutManagedFields(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return object
}
