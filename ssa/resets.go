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

// unusual are the resets of resources that differ from the rule of ResetsOf.
var unusual = map[string]Resets{
	"certificatesigningrequests": {"status": {"spec", "status.conditions"}, "approval": {"spec", "status.certificate"}},
	"customresourcedefinitions":  {"status": {"metadata", "spec"}},
	"apiservices":                {"status": {"metadata", "spec"}},
	"deployments":                {"status": {"metadata.labels", "spec"}},
	"namespaces":                 {"finalize": {"status"}},
	"pods": {
		"status":              {"metadata.deletionTimestamp", "metadata.ownerReferences", "spec"},
		"ephemeralcontainers": {"status"},
		"resize":              {"status"},
	},
	"validatingadmissionpolicies": {"status": {"metadata", "spec"}},
	"volumeattachments":           {"status": {"metadata", "spec"}},
}

// ResetsOf returns the resets of a resource: one with a status subresource has
// its status written by that alone, which writes nothing of spec.
func ResetsOf(res *api.Resource) Resets {
	if !res.HasStatus {
		return nil
	}
	r := Resets{"": {"status"}, "status": {"spec"}}
	for subresource, fields := range unusual[res.Name] {
		r[subresource] = fields
	}
	return r
}
