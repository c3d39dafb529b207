package document

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// Undo returns the state of an object before a change. It shares unchanged values with the object.
func Undo(object any, fields []v1alpha1.FieldChange) (any, error) {
	type entry struct {
		path    Path
		before  string
		removes bool
	}
	var entries []entry
	for _, f := range fields {
		path, err := ParsePath(object, f.Path)
		if err != nil {
			return nil, err
		}
		if len(path) == 0 {
			return nil, fmt.Errorf("a change has no path")
		}
		entries = append(entries, entry{path, f.Before, f.Before == ""})
	}
	// Elements that came are removed from the end of a list, and elements that went come back from its beginning, so that
	// the index of each is right when its turn comes.
	slices.SortStableFunc(entries, func(a, b entry) int {
		switch {
		case a.removes && b.removes:
			return compare(b.path, a.path)
		case a.removes:
			return -1
		case b.removes:
			return 1
		}
		return compare(a.path, b.path)
	})
	for _, e := range entries {
		var err error
		if e.removes {
			object, err = remove(object, e.path)
		} else {
			object, err = set(object, e.path, formerValue(e.before))
		}
		if err != nil {
			return nil, fmt.Errorf("undoing %s: %w", e.path, err)
		}
	}
	return object, nil
}

// formerValue returns the value before a change. Of a confidential value the server keeps a remark alone, which takes its place.
func formerValue(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}

// compare orders paths, elements of lists by index.
func compare(a, b Path) int {
	return slices.CompareFunc(a, b, func(x, y Step) int {
		switch {
		case x.Index != y.Index:
			return x.Index - y.Index
		case x.Field < y.Field:
			return -1
		case x.Field > y.Field:
			return 1
		}
		return 0
	})
}
