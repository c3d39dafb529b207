package ssa

import "strings"

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
