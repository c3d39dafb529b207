// Package strategicpatch applies strategic merge patches with the results and the
// messages of kube-apiserver.
//
// The library that kube-apiserver uses, k8s.io/apimachinery/pkg/util/strategicpatch,
// compares each element of a patch's list with each element of the object's list, so
// that two lists of 10,000 elements take half a minute, which nothing interrupts. Here
// lists are indexed by merge key: a patch costs no more than its length and that of
// the object, times a logarithm. The library remains the source of the schema (the
// struct tags patchStrategy and patchMergeKey).
//
//   - strategicpatch.go: objects, field by field.
//   - directives.go: $patch, $retainKeys, $setElementOrder and $deleteFromPrimitiveList.
//   - list.go: lists, element by element.
//   - order.go: the order of the elements of a merged list.
//   - index.go: the positions of elements by merge key.
package strategicpatch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/mergepatch"
	library "k8s.io/apimachinery/pkg/util/strategicpatch"
)

var (
	// ErrUnmergeable is wrapped by the errors about lists that the library panics on.
	ErrUnmergeable = errors.New("lists cannot be merged")
	// ErrTooMuchWork is the error of a patch that merges into the same long list many
	// times.
	ErrTooMuchWork = errors.New("the strategic merge patch merges into the same lists too often")

	errIncomparable = fmt.Errorf("%w: an object or a list identifies no element", ErrUnmergeable)
	errNullElement  = fmt.Errorf("%w: the first element is null", ErrUnmergeable)
)

// Apply applies a patch to an object of the type of typed, both decoded from JSON, and
// returns the result. It changes original and patch. It returns an error if ctx is done.
func Apply(ctx context.Context, original, patch map[string]any, typed any) (map[string]any, error) {
	schema, err := library.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, err
	}
	// Each list of the object is visited a few times, unless several elements of the patch
	// have the same merge key.
	const visitsAlways, visitsPerElement = 1 << 20, 8
	m := &merger{ctx: ctx, visits: visitsAlways + visitsPerElement*(elements(original)+elements(patch))}
	return m.mergeMap(original, patch, schema)
}

// elements returns the number of list elements in a value.
func elements(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			n += elements(field)
		}
	case []any:
		n = len(v)
		for _, item := range v {
			n += elements(item)
		}
	}
	return n
}

// merger applies one patch.
type merger struct {
	ctx context.Context
	// visits is the number of list elements that may still be visited.
	visits int
	// maps is the number of objects that were merged.
	maps int
}

// visit subtracts n visits of list elements. It returns an error if none remain or ctx is
// done.
func (m *merger) visit(n int) error {
	if m.visits -= n; m.visits < 0 {
		return ErrTooMuchWork
	}
	return m.ctx.Err()
}

// mergeMap merges a patch into an object. It returns original, unless a directive
// replaces it.
func (m *merger) mergeMap(original, patch map[string]any, schema library.LookupPatchMeta) (map[string]any, error) {
	const often = 64
	if m.maps++; m.maps%often == 1 && m.ctx.Err() != nil {
		return nil, m.ctx.Err()
	}
	if directive, ok := patch[patchDirective]; ok {
		return replacement(directive, patch)
	}
	if original == nil {
		original = map[string]any{}
	}
	if err := retainKeys(original, patch); err != nil {
		return nil, err
	}
	if err := m.mergeOrderedLists(original, patch, schema); err != nil {
		return nil, err
	}
	// The library goes through the fields in random order. In this order deletions
	// from a list come before additions to it, and deletions of lists last.
	names, deletions := make([]string, 0, len(patch)), []string(nil)
	for name, change := range patch {
		if change == nil && strings.HasPrefix(name, deletionDirective) {
			deletions = append(deletions, name)
		} else {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Sort(deletions)
	for _, name := range append(names, deletions...) {
		if err := m.mergeField(original, name, patch[name], schema); err != nil {
			return nil, err
		}
	}
	return original, nil
}

// mergeField merges a field of a patch into an object.
func (m *merger) mergeField(original map[string]any, name string, change any, schema library.LookupPatchMeta) error {
	name, isDeletion, err := deletionTarget(name)
	if err != nil {
		return err
	}
	if change == nil {
		delete(original, name)
		return nil
	}
	current, exists := original[name]
	if !exists || reflect.TypeOf(current) != reflect.TypeOf(change) {
		if isDeletion {
			return nil
		}
		dropNulls(change)
		if change, ok := withoutDirectives(change); ok {
			original[name] = change
		} else {
			delete(original, name)
		}
		return nil
	}
	switch change := change.(type) {
	case map[string]any:
		f, err := lookup(schema.LookupPatchMetadataForStruct(name))
		if err != nil {
			return err
		}
		if f.strategy == replaceValue {
			original[name] = change
			return nil
		}
		original[name], err = m.mergeMap(current.(map[string]any), change, f.schema)
		return err
	case []any:
		f, err := lookup(schema.LookupPatchMetadataForSlice(name))
		if err != nil {
			return err
		}
		original[name], err = m.mergeList(current.([]any), change, f, isDeletion)
		return err
	}
	original[name] = change
	return nil
}

// field is the schema of a field.
type field struct {
	// schema is the schema of the field's value or, for a list, of its elements.
	schema             library.LookupPatchMeta
	strategy, mergeKey string
}

// lookup converts the results of a schema lookup.
func lookup(schema library.LookupPatchMeta, meta library.PatchMeta, err error) (field, error) {
	if err != nil {
		return field{}, err
	}
	f := field{schema: schema, mergeKey: meta.GetPatchMergeKey()}
	strategies := meta.GetPatchStrategies()
	others := 0
	for _, s := range strategies {
		if s != retainKeysStrategy { // it applies only when a patch is created
			f.strategy = s
			others++
		}
	}
	if len(strategies) > 2 || others > 1 {
		return field{}, fmt.Errorf("unexpected patch strategy: %v", strategies)
	}
	return f, nil
}

// dropNulls removes the null fields of the objects in a value.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil {
				delete(v, name)
			} else {
				dropNulls(field)
			}
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// withoutDirectives returns a value of a patch as it is stored in a field that the object
// does not have: without its objects with the directive $patch. It returns false if the
// value itself has the directive.
func withoutDirectives(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[patchDirective]; ok {
			return nil, false
		}
		for name, field := range v {
			if field, ok := withoutDirectives(field); ok {
				v[name] = field
			} else {
				delete(v, name)
			}
		}
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			if item, ok := withoutDirectives(item); ok {
				out = append(out, item)
			}
		}
		return out, true
	}
	return v, true
}

// errNoMergeKey has the library's message.
func errNoMergeKey(m map[string]any, key string) error { return mergepatch.ErrNoMergeKey(m, key) }

// errType has the library's message.
func errType(want, got any) error { return mergepatch.ErrBadArgType(want, got) }
