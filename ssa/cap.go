package ssa

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ancientChanges is the name under which the oldest owners are put together.
const ancientChanges = "ancient-changes"

// maxUpdateOwners is how many owners may come from updates.
const maxUpdateOwners = 10

// capped puts the oldest owners from updates together, one for each version,
// until there are few enough.
func (os owners) capped() owners {
	old := make([]owner, 0, len(os))
	for _, o := range os {
		if !o.applied() {
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
		os = os.merge(first[o.apiVersion], o)
		over--
	}
	return os
}

// merge puts o into the ancient changes of its version, which first becomes
// when there are none yet.
func (os owners) merge(first, o *owner) owners {
	bucket := owner{manager: ancientChanges, operation: metav1.ManagedFieldsOperationUpdate, apiVersion: o.apiVersion}
	if os.find(&bucket) == nil {
		there := os.find(first)
		there.manager, there.subresource = ancientChanges, ""
	}
	there := os.find(&bucket)
	there.set(union(o.fields, there.fields))
	there.time = o.time
	return slices.DeleteFunc(os, func(p owner) bool { return p.is(o) })
}
