package ssa

import (
	"bytes"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// KeepTimes takes back the times in managedFields of obj when they are all in
// which it differs from old, so that a write that changes nothing is none. Both
// are of the hub type. It is called last before obj is stored.
func (m *Manager) KeepTimes(old, obj api.Object) {
	before := old.GetManagedFields()
	if !sameButTimes(before, obj.GetManagedFields()) {
		return
	}
	v, err := m.view(m.resource.Hub())
	if err != nil || v == nil {
		return
	}
	if v.plan == nil {
		if !equalJSON(content(old), content(obj)) {
			return
		}
	} else if !v.plan.equal(reflect.ValueOf(old), reflect.ValueOf(obj)) {
		return
	}
	obj.SetManagedFields(before)
}

// sameButTimes tells whether two lists differ in times and in nothing else.
func sameButTimes(a, b []metav1.ManagedFieldsEntry) bool {
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

// Validate tells what is wrong with managedFields that were made by somebody
// else than this package: an admission plugin, for one.
func Validate(entries []metav1.ManagedFieldsEntry) error {
	_, err := decode(entries)
	return err
}
