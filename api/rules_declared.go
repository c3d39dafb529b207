package api

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rules that kube-apiserver generates from markers in the published types. They
// word some faults in another way than the ones written by hand: a field that may
// not change is shown as null, and a duplicate is shown whole.

// neverChanged refuses a change of a field.
func neverChanged[T any](at *place, is, was T) bool {
	if equality.Semantic.DeepEqual(is, was) {
		return true
	}
	at.add(field.Invalid(at.path(), nil, "field is immutable").WithOrigin("immutable"))
	return false
}

// atMost bounds a number from above.
func atMost[T whole](at *place, value, high T) bool {
	if value > high {
		at.add(field.Invalid(at.path(), value, content.MaxError(high)).WithOrigin("maximum"))
		return false
	}
	return true
}

// onceEach refuses elements with a key that an earlier one has.
func onceEach[T any, K comparable](at *place, list []T, key func(*T) K) {
	var seen unique[K]
	for i := range list {
		if k := key(&list[i]); seen.has(k) {
			at.add(field.Duplicate(at.item(i).path(), list[i]))
		} else {
			seen.put(k)
		}
	}
}

// union asks for exactly one of some fields of a struct.
func union(at *place, members ...unionMember) bool {
	var set, all []string
	for _, m := range members {
		if m.set {
			set = append(set, m.name)
		}
		all = append(all, "`"+m.name+"`")
	}
	switch len(set) {
	case 0:
		at.add(field.Invalid(at.path(), "", "must specify one of: "+strings.Join(all, ", ")).WithOrigin("union"))
	case 1:
		return true
	default:
		at.add(field.Invalid(at.path(), setFields(set), "must specify exactly one of: "+strings.Join(all, ", ")).WithOrigin("union"))
	}
	return false
}

// unionMember is a field of a union, and whether it is set.
type unionMember struct {
	name string
	set  bool
}
