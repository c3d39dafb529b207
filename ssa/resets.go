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

// reach is a tree of fields: what a write has a say in. An empty one stands for
// all below it.
type reach map[string]reach

func reachOf(paths []string) reach {
	out := reach{}
	for _, path := range paths {
		at := out
		for name := range strings.SplitSeq(path, ".") {
			if at[name] == nil {
				at[name] = reach{}
			}
			at = at[name]
		}
	}
	return out
}

// of returns the members of s that are in r, or on the way to it.
func (r reach) of(s Set) Set {
	if len(r) == 0 {
		return s
	}
	var out Set
	for _, n := range s {
		below, ok := r["*"]
		if n.kind == kindField && !ok {
			below, ok = r[n.text]
		}
		if !ok {
			continue
		}
		if n.kids = below.of(n.kids); n.mark != 0 || len(n.kids) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// written is what of s a write through a subresource has a say in.
func (m *Manager) written(s Set, subresource string) Set {
	s, _ = minusTrees(s, m.resets[subresource])
	return m.reaches[subresource].of(s)
}
