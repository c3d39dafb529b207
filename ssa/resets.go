package ssa

import (
	"strings"

	"github.com/miniapiserver/miniapiserver/api"
)

// Resets are the fields that a write cannot set, by subresource ("" is the main resource), so that
// it does not own them. Each is a dotted path and includes all fields below it.
type Resets map[string][]string

// set returns the fields of one subresource.
func (r Resets) set(subresource string) Set {
	var s Set
	for _, path := range r[subresource] {
		s = union(s, paths(strings.Split(path, ".")))
	}
	return s
}

// ResetsOf returns the resets of a resource. By default only the status subresource writes the
// status, and it does not write the spec; Resource.ResetFields overrides the default.
func ResetsOf(res *api.Resource) Resets {
	if !res.Status.Served {
		return res.Fields.Reset
	}
	r := Resets{"": {"status"}, "status": {"spec"}}
	for subresource, fields := range res.Fields.Reset {
		r[subresource] = fields
	}
	return r
}

// written returns the members of s that a write to a subresource can set.
func (m *Manager) written(s Set, subresource string) Set {
	if resets := m.resets[subresource]; len(resets) > 0 {
		s, _ = minusTrees(s, resets)
	}
	return s
}
