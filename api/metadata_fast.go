package api

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// plainness is a cached answer of isPlain.
type plainness int8

const (
	unknown plainness = iota
	plain
	notPlain
)

// isPlain is a fast path: if it returns true, the metadata of an updated object is a valid change of that of
// the stored one, whatever the kind; its name is valid by the rules that all kinds share.
func isPlain[T Object](w *Write[T]) bool {
	if w.plain == unknown {
		w.plain = notPlain
		if isPlainUpdate(w.resource, w.Object, w.Old) {
			w.plain = plain
		}
	}
	return w.plain == plain
}

func isPlainUpdate(r *Resource, obj, old Object) bool {
	if prefix := obj.GetGenerateName(); prefix != "" && len(validation.SegmentName(prefix, true)) > 0 {
		return false
	}
	if u, ok := obj.(*untyped.Object); ok && u.MetadataFault() != nil {
		return false
	}
	return validation.FastDNSLabel(obj.GetName()) && plainMetadata(obj, r.Namespaced) && plainChange(obj, old)
}

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
