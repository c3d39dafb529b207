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
	type aged struct {
		index int
		id    string
	}
	var old []aged
	for i := range os {
		if os[i].operation != metav1.ManagedFieldsOperationApply {
			old = append(old, aged{index: i})
		}
	}
	over := len(old) - maxUpdateOwners
	if over <= 0 {
		return os
	}
	for i := range old {
		old[i].id = os[old[i].index].id()
	}
	slices.SortFunc(old, func(a, b aged) int {
		if c := os[a.index].seconds() - os[b.index].seconds(); c != 0 {
			return int(c)
		}
		return strings.Compare(a.id, b.id)
	})
	m := newMerging(os)
	first := map[string]int{}
	for _, o := range old {
		if over == 0 {
			break
		}
		version := os[o.index].apiVersion
		if oldest, ok := first[version]; ok {
			m.merge(oldest, o.index)
			over--
		} else {
			first[version] = o.index
		}
	}
	return m.result()
}

// merging merges owners into the ancient changes of their versions.
type merging struct {
	os owners
	at map[ownerKey]int
	// gone are the owners that were merged into another one; fields are the fields that each of the
	// others gets.
	gone   []bool
	fields map[int][]Set
}

func newMerging(os owners) *merging {
	return &merging{os: os, at: os.byKey(), gone: make([]bool, len(os)), fields: map[int][]Set{}}
}

// merge merges owner i into the ancient changes of its version. If there are none yet, the oldest owner
// of the version becomes them.
func (m *merging) merge(oldest, i int) {
	o := &m.os[i]
	ancient := owner{manager: ancientChanges, operation: metav1.ManagedFieldsOperationUpdate, apiVersion: o.apiVersion}
	into, exists := m.at[ancient.key()]
	if !exists {
		into = oldest
		m.os[into].manager, m.os[into].subresource = ancientChanges, ""
		m.at[ancient.key()] = into
	}
	m.fields[into] = append(m.fields[into], o.fields)
	m.os[into].time = o.time
	m.gone[i] = true
	if into == i {
		delete(m.at, ancient.key())
	}
}

// result returns the remaining owners with their fields.
func (m *merging) result() owners {
	kept := m.os[:0]
	for i, o := range m.os {
		if m.gone[i] {
			continue
		}
		if more := m.fields[i]; len(more) > 0 {
			o.setFields(unionAll(append(more, o.fields)))
		}
		kept = append(kept, o)
	}
	return kept
}
