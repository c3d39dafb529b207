package ssa

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestKeepTimes(t *testing.T) {
	res := resource(t, "configmaps")
	_, schemas := builtIn()
	m := New(res, schemas, nil)
	entry := func(seconds int64) []metav1.ManagedFieldsEntry {
		at := metav1.NewTime(time.Unix(seconds, 0))
		return []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", APIVersion: "v1", Time: &at, FieldsType: fieldsV1, FieldsV1: metav1.NewFieldsV1(`{}`)}}
	}
	object := func(value string, seconds int64) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: entry(seconds)}, Data: map[string]string{"a": value}}
	}
	old := object("1", 1)
	identical, other := object("1", 2), object("2", 2)
	elsewhere := object("1", 2)
	elsewhere.ManagedFields[0].Manager = "other"
	for obj, want := range map[*corev1.ConfigMap]Comparison{identical: ObjectsEqual, other: ObjectsDiffer, object("1", 1): ManagersDiffer, elsewhere: ManagersDiffer} {
		if got := m.KeepTimes(old, obj); got != want {
			t.Errorf("%v: got %s, want %s", obj, got, want)
		}
	}
	if got := identical.ManagedFields[0].Time.Unix(); got != 1 {
		t.Errorf("nothing changed, but the time is %d", got)
	}
	if got := other.ManagedFields[0].Time.Unix(); got != 2 {
		t.Errorf("data changed, but the time is %d", got)
	}
}
