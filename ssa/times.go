package ssa

import (
	"bytes"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// Comparison is how KeepTimes found out whether a write changes anything, as in the label code_path of kube-apiserver's
// metric.
type Comparison int

// The comparisons, with their names in metrics.
const (
	// ManagersDiffer: managedFields differ in more than times, or not even in these.
	ManagersDiffer Comparison = iota
	ObjectsDiffer
	ObjectsEqual
	Incomparable
	Comparisons // their number
)

// String returns the name of the comparison in metrics.
func (c Comparison) String() string {
	return [Comparisons]string{"unequal_objects_fast", "unequal_objects_slow", "equal_objects", "error"}[c]
}

// KeepTimes restores the times in the managedFields of obj if it differs from old only in them, so
// that a write without changes is a no-op. Both are of the hub type. It is the last step before obj
// is stored.
func (m *Manager) KeepTimes(old, obj api.Object) Comparison {
	before := old.GetManagedFields()
	if !differsOnlyInTimes(before, obj.GetManagedFields()) {
		return ManagersDiffer
	}
	v, err := m.view(m.resource.Hub())
	if err != nil || v == nil {
		return Incomparable
	}
	if v.plan == nil {
		if !equalJSON(untypedContent(old), untypedContent(obj)) {
			return ObjectsDiffer
		}
	} else if !v.plan.equal(reflect.ValueOf(old), reflect.ValueOf(obj)) {
		return ObjectsDiffer
	}
	obj.SetManagedFields(before)
	return ObjectsEqual
}

// differsOnlyInTimes reports whether two lists differ in times and nothing else.
func differsOnlyInTimes(a, b []metav1.ManagedFieldsEntry) bool {
	if len(a) != len(b) {
		return false
	}
	times := false
	for i := range a {
		x, y := a[i], b[i]
		times = times || !x.Time.Equal(y.Time)
		if x.Manager != y.Manager || x.Operation != y.Operation || x.APIVersion != y.APIVersion ||
			x.Subresource != y.Subresource || x.FieldsType != y.FieldsType || (x.FieldsV1 == nil) != (y.FieldsV1 == nil) ||
			x.FieldsV1 != nil && !bytes.Equal(x.FieldsV1.GetRawBytes(), y.FieldsV1.GetRawBytes()) {
			return false
		}
	}
	return times
}

// Validate validates managedFields that another package set, such as an admission plugin.
func Validate(entries []metav1.ManagedFieldsEntry) error {
	_, err := decodeOwners(entries, nil)
	return err
}
