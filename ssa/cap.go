package ssa

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ancientChanges is the manager name of merged entries.
const ancientChanges = "ancient-changes"

// maxUpdateOwners is the maximum number of owners with operation Update.
const maxUpdateOwners = 10

// capped merges the oldest Update owners of each version until their number is within the limit.
func (os owners) capped() owners {
	old := make([]owner, 0, len(os))
	for _, o := range os {
		if o.operation != metav1.ManagedFieldsOperationApply {
			old = append(old, o)
		}
	}
	over := len(old) - maxUpdateOwners
	if over <= 0 {
		return os
	}
	slices.SortFunc(old, func(a, b owner) int {
		if c := a.seconds() - b.seconds(); c != 0 {
			return int(c)
		}
		return strings.Compare(a.id(), b.id())
	})
	first := map[string]*owner{}
	for i := range old {
		o := &old[i]
		if over == 0 {
			break
		}
		if first[o.apiVersion] == nil {
			first[o.apiVersion] = o
			continue
		}
		os = os.mergeOwners(first[o.apiVersion], o)
		over--
	}
	return os
}

// mergeOwners merges o into the ancient changes of its version. If there are none yet, first
// becomes them.
func (os owners) mergeOwners(first, o *owner) owners {
	bucket := owner{manager: ancientChanges, operation: metav1.ManagedFieldsOperationUpdate, apiVersion: o.apiVersion}
	if os.find(&bucket) == nil {
		existing := os.find(first)
		existing.manager, existing.subresource = ancientChanges, ""
	}
	existing := os.find(&bucket)
	existing.setFields(union(o.fields, existing.fields))
	existing.time = o.time
	return slices.DeleteFunc(os, func(p owner) bool { return p.isSame(o) })
}
