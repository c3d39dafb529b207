package handlers

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/miniapiserver/miniapiserver/api"
)

// maxStrategicCost bounds the comparisons of list elements in a strategic merge patch.
// The library compares each element of a patch's list with each element of the object's
// list, and sorts the latter by comparing each of its elements with all others, so that
// lists of 10,000 elements take half a minute, in which nothing can stop it.
const maxStrategicCost = 10_000_000

// strategicCost returns an upper bound of the comparisons that a strategic merge patch
// of an object takes.
func strategicCost(original, changes map[string]any, obj api.Object) int {
	schema, err := strategicpatch.NewPatchMetaFromStruct(obj)
	if err != nil {
		return 0 // the merge fails
	}
	have, want := listSizes{}, listSizes{}
	have.add("", original, schema)
	want.add("", changes, schema)
	cost := 0
	for path, patch := range want {
		// All elements may have been merged before the last list is.
		n := have[path].elements + patch.elements
		cost += patch.lists * n * n
	}
	return cost
}

// listSizes has the lists that are merged element by element, by their paths, which
// name list elements by their merge keys.
type listSizes map[string]listSize

// listSize counts the lists at one path, and their elements.
type listSize struct{ lists, elements int }

func (s listSizes) add(path string, v map[string]any, schema strategicpatch.LookupPatchMeta) {
	for name, field := range v {
		target := directiveTarget(name)
		switch field := field.(type) {
		case map[string]any:
			if below, _, err := schema.LookupPatchMetadataForStruct(target); err == nil {
				s.add(path+"/"+target, field, below)
			}
		case []any:
			below, meta, err := schema.LookupPatchMetadataForSlice(target)
			if err == nil && (name != target || slices.Contains(meta.GetPatchStrategies(), "merge")) {
				s.addList(path+"/"+target, field, meta.GetPatchMergeKey(), below)
			}
		}
	}
}

func (s listSizes) addList(path string, list []any, mergeKey string, schema strategicpatch.LookupPatchMeta) {
	size := s[path]
	s[path] = listSize{size.lists + 1, size.elements + len(list)}
	if mergeKey == "" {
		return
	}
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			s.add(fmt.Sprintf("%s[%v]", path, m[mergeKey]), m, schema)
		}
	}
}

// directiveTarget returns the name of the list that a directive is about, or the name
// itself.
func directiveTarget(name string) string {
	for _, prefix := range []string{"$setElementOrder/", "$deleteFromPrimitiveList/"} {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			return name[len(prefix):]
		}
	}
	return name
}
