package strategicpatch

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/mergepatch"
	library "k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The directives of a patch, and the values of $patch.
const (
	patchDirective        = "$patch"
	retainKeysDirective   = "$retainKeys"
	elementOrderDirective = "$setElementOrder"
	deletionDirective     = "$deleteFromPrimitiveList"

	deleteValue  = "delete"
	replaceValue = "replace"
	mergeValue   = "merge"

	retainKeysStrategy = "retainKeys"
)

// replacement returns the result of a patch with the directive $patch.
func replacement(directive any, patch map[string]any) (map[string]any, error) {
	switch directive {
	case replaceValue:
		delete(patch, patchDirective)
		return patch, nil
	case deleteValue:
		return map[string]any{}, nil
	}
	return nil, mergepatch.ErrBadPatchType(directive, patch)
}

// retainKeys applies the directive $retainKeys: it removes the fields of the object that
// the directive does not list. The patch must not set other fields.
func retainKeys(original, patch map[string]any) error {
	directive, ok := patch[retainKeysDirective]
	if !ok {
		return nil
	}
	delete(patch, retainKeysDirective)
	list, ok := directive.([]any)
	if !ok {
		return mergepatch.ErrBadPatchFormatForRetainKeys
	}
	retained := make(map[string]bool, len(list))
	for _, v := range list {
		if !isComparable(v) {
			return errIncomparable
		}
		if name, ok := v.(string); ok {
			retained[name] = true
		}
	}
	for name, v := range patch {
		if v == nil || strings.HasPrefix(name, deletionDirective) || strings.HasPrefix(name, elementOrderDirective) {
			continue
		}
		if !retained[name] {
			return mergepatch.ErrBadPatchFormatForRetainKeys
		}
	}
	maps.DeleteFunc(original, func(name string, _ any) bool { return !retained[name] })
	return nil
}

// deletionTarget returns the name of the list that a field of a patch changes, and reports
// whether the field lists elements to delete.
func deletionTarget(name string) (target string, isDeletion bool, err error) {
	if !strings.HasPrefix(name, deletionDirective) {
		return name, false, nil
	}
	target, ok := strings.CutPrefix(name, deletionDirective+"/")
	switch {
	case !ok:
		return "", false, mergepatch.ErrBadPatchFormatForPrimitiveList
	case target == "":
		return name, true, nil
	}
	return target, true, nil
}

// mergeOrderedLists merges the lists with a directive $setElementOrder, and removes them
// from the patch.
func (m *merger) mergeOrderedLists(original, patch map[string]any, schema library.LookupPatchMeta) error {
	var names []string
	for name := range patch {
		if strings.HasPrefix(name, elementOrderDirective) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var unmergeable error
	for _, name := range names {
		directive, ok := patch[name]
		if !ok {
			continue // merged as the list of another directive
		}
		delete(patch, name)
		order, ok := directive.([]any)
		if !ok {
			return errType(order, directive)
		}
		target, ok := strings.CutPrefix(name, elementOrderDirective+"/")
		if !ok {
			return mergepatch.ErrBadPatchFormatForSetElementOrderList
		}
		switch err := m.mergeOrderedList(original, patch, target, order, schema); {
		case errors.Is(err, ErrUnmergeable):
			// The library goes through the lists in random order, and panics here. Other faults have
			// errors of their own.
			unmergeable = err
		case err != nil:
			return err
		}
	}
	return unmergeable
}

// mergeOrderedList merges a list in the order of the directive.
func (m *merger) mergeOrderedList(original, patch map[string]any, name string, order []any, schema library.LookupPatchMeta) error {
	current, hasCurrent, err := listOf(original, name)
	if err != nil {
		return err
	}
	change, hasChange, err := listOf(patch, name)
	if err != nil {
		return err
	}
	f, err := lookup(schema.LookupPatchMetadataForSlice(name))
	if err != nil {
		return err
	}
	if err := m.visit(len(current) + len(change) + len(order)); err != nil {
		return err
	}
	if err := checkOrder(change, order, f.mergeKey); err != nil {
		return err
	}
	merged := current
	switch {
	case !hasCurrent && !hasChange:
		return nil
	case !hasCurrent:
		list, _ := withoutDirectives(change)
		merged = list.([]any)
	case hasChange:
		if merged, err = m.mergeList(current, change, f, false); err != nil {
			return err
		}
	}
	ordered, others, err := partition(merged, order, f.mergeKey)
	if err != nil {
		return err
	}
	areMaps, err := elementsAreMaps(current, change)
	if err != nil {
		return err
	}
	// As in the library, current no longer has the elements that the patch deleted.
	out, err := arrange(ordered, others, order, current, f.mergeKey, areMaps)
	if err != nil {
		return err
	}
	original[name] = out
	delete(patch, name)
	return nil
}

// listOf returns the list in a field, and reports whether the field exists.
func listOf(m map[string]any, name string) (list []any, exists bool, err error) {
	v, exists := m[name]
	if !exists {
		return nil, false, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, true, errType(list, v)
	}
	return list, true, nil
}
