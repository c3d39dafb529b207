package api

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// plainMetadata is a fast path: if it returns true, the metadata of obj is valid apart from
// its names; otherwise the library must decide.
func plainMetadata(obj Object, namespaced bool) bool {
	ns := obj.GetNamespace()
	return (namespaced && validation.FastDNSLabel(ns) || !namespaced && ns == "") &&
		obj.GetGeneration() >= 0 && len(obj.GetFinalizers()) == 0 &&
		validation.FastLabels(obj.GetLabels()) && validation.FastAnnotations(obj.GetAnnotations()) &&
		plainOwners(obj.GetOwnerReferences()) && plainManagers(obj.GetManagedFields())
}

// plainChange is a fast path: if it returns true, the update of metadata from old to obj is
// valid, provided plainMetadata returned true for obj.
func plainChange(obj, old Object) bool {
	created, oldCreated := obj.GetCreationTimestamp(), old.GetCreationTimestamp()
	return obj.GetResourceVersion() != "" && obj.GetGeneration() >= old.GetGeneration() &&
		obj.GetName() == old.GetName() && obj.GetNamespace() == old.GetNamespace() && obj.GetUID() == old.GetUID() &&
		created.Equal(&oldCreated) && obj.GetDeletionTimestamp() == nil && old.GetDeletionTimestamp() == nil &&
		obj.GetDeletionGracePeriodSeconds() == nil && old.GetDeletionGracePeriodSeconds() == nil
}

func plainOwners(owners []metav1.OwnerReference) bool {
	controllers := 0
	for i := range owners {
		o := &owners[i]
		if o.Controller != nil && *o.Controller {
			controllers++
		}
		group, version, grouped := strings.Cut(o.APIVersion, "/")
		if grouped && (group == "" || version == "" || strings.Contains(version, "/")) ||
			o.APIVersion == "" || o.Kind == "" || o.Kind == "Event" || o.Name == "" || o.UID == "" || controllers > 1 {
			return false
		}
	}
	return true
}

func plainManagers(entries []metav1.ManagedFieldsEntry) bool {
	for i := range entries {
		e := &entries[i]
		if e.Operation != metav1.ManagedFieldsOperationApply && e.Operation != metav1.ManagedFieldsOperationUpdate ||
			e.FieldsType != "" && e.FieldsType != "FieldsV1" || len(e.Manager) > 128 || len(e.Subresource) > 256 {
			return false
		}
		for j := range len(e.Manager) {
			if c := e.Manager[j]; c < ' ' || c > '~' {
				return false
			}
		}
	}
	return true
}
