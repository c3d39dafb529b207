package ssa

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOwnerChanges checks what managers gain and lose, also where one comes or goes, and that broken entries are left out.
func TestOwnerChanges(t *testing.T) {
	entry := func(manager, operation, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource,
			FieldsV1: metav1.NewFieldsV1(fields)}
	}
	before := []metav1.ManagedFieldsEntry{
		entry("a", "Apply", "", `{"f:spec":{"f:replicas":{},"f:paused":{}}}`), entry("b", "Update", "status", `{"f:status":{"f:replicas":{}}}`),
		entry("broken", "Update", "", `{`), {Manager: "empty"},
	}
	after := []metav1.ManagedFieldsEntry{
		entry("a", "Apply", "", `{"f:spec":{"f:paused":{}}}`), entry("b", "Update", "status", `{"f:status":{"f:replicas":{}}}`),
		entry("c", "Apply", "", `{"f:spec":{"f:replicas":{},"f:ports":{"k:{\"port\":80}":{"f:port":{}}}}}`),
	}
	want := []OwnerChange{
		{Manager: "a (Apply)", Lost: []string{"spec.replicas"}},
		{Manager: "c (Apply)", Gained: []string{"spec.replicas", "spec.ports[port=80].port"}},
	}
	if got := OwnerChanges(before, after, 10); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := OwnerChanges(nil, after, 1); len(got) != 3 || len(got[2].Gained) != 1 {
		t.Errorf("with a limit: %v", got)
	}
}
