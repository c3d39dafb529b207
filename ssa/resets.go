package ssa

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

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
// status, and it does not write the spec; Resource.Reset overrides the default.
func ResetsOf(res *api.Resource) Resets {
	if res.Status == nil {
		return res.Reset
	}
	r := Resets{"": {"status"}, "status": {"spec"}}
	for subresource, fields := range res.Reset {
		r[subresource] = fields
	}
	return r
}

// written returns the members of s, fields of version v, that a write can set.
func (m *Manager) written(s Set, v *view, w Write) Set {
	if resets := m.resets[w.Subresource]; len(resets) > 0 && m.isReset(v.version.GroupVersion, w) {
		s, _ = minusTrees(s, resets)
	}
	return s
}

// isReset reports whether the resets of a write apply to the fields of version gv. For custom kinds
// they apply to the version of the request only, and those of the status to all versions that have
// one, as in kube-apiserver.
func (m *Manager) isReset(gv schema.GroupVersion, w Write) bool {
	if !m.resource.IsCustom() || gv == w.Version.GroupVersion {
		return true
	}
	return w.Subresource == "status" && slices.ContainsFunc(m.resource.Forms(), func(form *api.Resource) bool {
		isKept := !form.Versions[0].NotServed || gv == form.Storage.StorageVersion
		return form.Hub() == gv && form.Status != nil && isKept
	})
}
