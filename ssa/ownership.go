package ssa

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OwnerChange has the fields that a field manager gained and lost by a write, as paths without the dots before them.
type OwnerChange struct {
	// Manager is the name with the operation and, if there is one, the subresource: "kubectl (Apply)".
	Manager      string
	Gained, Lost []string
}

// OwnerChanges returns the difference between two managedFields, by manager, with at most limit paths in each direction.
// Entries that cannot be decoded are left out.
func OwnerChanges(before, after []metav1.ManagedFieldsEntry, limit int) []OwnerChange {
	had, has := fieldsByOwner(before), fieldsByOwner(after)
	var out []OwnerChange
	for name := range has {
		if had[name] == nil {
			had[name] = Set{}
		}
	}
	for name, fields := range had {
		gained, _ := minus(has[name], fields)
		lost, _ := minus(fields, has[name])
		if len(gained) > 0 || len(lost) > 0 {
			out = append(out, OwnerChange{name, gained.texts(limit), lost.texts(limit)})
		}
	}
	slices.SortFunc(out, func(a, b OwnerChange) int { return strings.Compare(a.Manager, b.Manager) })
	return out
}

// fieldsByOwner returns the fields of each entry by OwnerChange.Manager.
func fieldsByOwner(entries []metav1.ManagedFieldsEntry) map[string]Set {
	out := make(map[string]Set, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.FieldsV1 == nil {
			continue
		}
		fields, _, err := parseSet(e.FieldsV1.GetRawString())
		if err != nil {
			continue
		}
		name := e.Manager + " (" + string(e.Operation)
		if e.Subresource != "" {
			name += ", " + e.Subresource
		}
		name += ")"
		out[name] = union(out[name], fields)
	}
	return out
}

// texts returns the paths of a set, at most limit.
func (s Set) texts(limit int) []string {
	var out []string
	s.each(nil, func(path []element) {
		if len(out) == limit {
			return
		}
		var b strings.Builder
		for _, e := range path {
			b.WriteString(e.String())
		}
		out = append(out, strings.TrimPrefix(b.String(), "."))
	})
	return out
}
