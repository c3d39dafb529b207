package ssa

import (
	"strings"

	"github.com/miniapiserver/miniapiserver/api"
)

// Resets are the fields that a write has no say in, by subresource ("" is the
// object itself): whoever sends them does not come to own them. Each is a path
// of names with dots between them, and stands for all below it.
type Resets map[string][]string

// of returns the fields for one subresource.
func (r Resets) of(subresource string) Set {
	var s Set
	for _, path := range r[subresource] {
		s = union(s, paths(strings.Split(path, ".")))
	}
	return s
}

// ResetsOf returns the resets of a resource. By default a status subresource alone
// writes the status, and writes nothing of the spec; Resource.ResetFields differs.
func ResetsOf(res *api.Resource) Resets {
	if !res.HasStatus {
		return res.ResetFields
	}
	r := Resets{"": {"status"}, "status": {"spec"}}
	for subresource, fields := range res.ResetFields {
		r[subresource] = fields
	}
	return r
}

// written returns the members of s that a write through a subresource may set.
func (m *Manager) written(s Set, subresource string) Set {
	s, _ = minusTrees(s, m.resets[subresource])
	return s
}
