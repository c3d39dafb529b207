package api

import (
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// The checks of metadata. A new object is validated by the rules for new objects. An update is validated by the
// rules for changes, and by those for new objects too in the kinds for which kube-apiserver does so. Errors
// of custom kinds appear as often as rules find them, as in kube-apiserver.

// Metadata is the check of metadata of most kinds.
func Metadata[T Object](w *Write[T]) {
	ObjectMeta(w)
	finalizers(w)
}

// ObjectMeta is Metadata for kinds whose finalizers may have any name.
func ObjectMeta[T Object](w *Write[T]) {
	if w.IsNew() {
		NewObjectMeta(w)
	} else if !isPlain(w) {
		w.Add(w.resource.checkMetadataUpdate(w.Object, w.Old)...)
	}
}

// NewMetadata validates metadata by the rules for new objects, in updates too.
func NewMetadata[T Object](w *Write[T]) {
	NewObjectMeta(w)
	finalizers(w)
}

// NewObjectMeta is NewMetadata for kinds whose finalizers may have any name.
func NewObjectMeta[T Object](w *Write[T]) {
	r := w.resource
	validName := r.validName(w.Object)
	if !w.IsNew() && isPlain(w) && hasValidNames(w.Object, validName) {
		return
	}
	w.Add(r.checkMetadata(w.Object, validName)...)
}

// RevalidatedMetadata validates the metadata of an update by the rules for new objects.
func RevalidatedMetadata[T Object](w *Write[T]) {
	if !w.IsNew() {
		NewMetadata(w)
	}
}

// RevalidatedObjectMeta is RevalidatedMetadata for kinds whose finalizers may have any name.
func RevalidatedObjectMeta[T Object](w *Write[T]) {
	if !w.IsNew() {
		NewObjectMeta(w)
	}
}

// ObjectMetaIfValid is ObjectMeta for new objects in which the checks before found no errors: those of
// kube-apiserver do not include metadata.
func ObjectMetaIfValid[T Object](w *Write[T]) {
	if w.IsNew() && len(w.Errors) == 0 {
		NewObjectMeta(w)
		w.Errors = distinct(w.Errors, true)
	}
}

// checkSharedMetadata validates the metadata of an update by the rules that do not depend on the kind.
func checkSharedMetadata(w *Write[Object]) {
	if !isPlain(w) {
		r := w.resource
		w.Add(r.checkMetadata(w.Object, validation.SegmentName)...)
		w.Add(r.checkMetadataUpdate(w.Object, w.Old)...)
	}
}

// finalizers validates the names of finalizers.
func finalizers[T Object](w *Write[T]) {
	if names := w.Object.GetFinalizers(); len(names) > 0 {
		w.Add(FinalizerNames(names, MetadataPath().Child("finalizers"))...)
	}
}

// checkSegments validates that name and generateName are segments of a URL path.
func checkSegments(obj Object) (errs field.ErrorList) {
	if prefix := obj.GetGenerateName(); prefix != "" {
		for _, fault := range validation.SegmentName(prefix, true) {
			errs = append(errs, field.Invalid(MetadataPath().Child("generateName"), prefix, fault))
		}
	}
	for _, fault := range validation.SegmentName(obj.GetName(), false) {
		errs = append(errs, field.Invalid(MetadataPath().Child("name"), obj.GetName(), fault))
	}
	return errs
}

// checkMetadata validates metadata by the rules that all kinds share; validName validates
// name and generateName.
func (r *Resource) checkMetadata(obj Object, validName apivalidation.ValidateNameFunc) field.ErrorList {
	if u, ok := obj.(*untyped.Object); ok {
		if err := u.MetadataFault(); err != nil {
			return field.ErrorList{err}
		}
	}
	if obj.GetName() != "" && hasValidNames(obj, validName) && plainMetadata(obj, r.Namespaced) {
		return nil
	}
	return apivalidation.ValidateObjectMetaAccessor(obj, r.Namespaced, validName, MetadataPath())
}

// hasValidNames reports whether name and generateName are valid, if the object has them.
func hasValidNames(obj Object, validName apivalidation.ValidateNameFunc) bool {
	name, prefix := obj.GetName(), obj.GetGenerateName()
	return (name == "" || len(validName(name, false)) == 0) && (prefix == "" || len(validName(prefix, true)) == 0)
}

// checkMetadataUpdate validates that immutable metadata did not change.
func (r *Resource) checkMetadataUpdate(obj, old Object) field.ErrorList {
	if plainMetadata(obj, r.Namespaced) && plainChange(obj, old) {
		return nil
	}
	return apivalidation.ValidateObjectMetaAccessorUpdate(obj, old, MetadataPath())
}

// validName returns the function that validates name and generateName of an object.
func (r *Resource) validName(obj Object) apivalidation.ValidateNameFunc {
	switch {
	case r.ValidateNameOf != nil:
		return func(name string, prefix bool) []string { return r.ValidateNameOf(obj, name, prefix) }
	case r.ValidateName != nil:
		return r.ValidateName
	}
	return validation.SubdomainName
}

// FinalizerNames validates a list of finalizers.
func FinalizerNames(names []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		if err := FinalizerName(name, at.Index(i)); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// FinalizerName validates that a finalizer has a domain or is a standard finalizer.
func FinalizerName(name string, at *field.Path) *field.Error {
	if strings.Contains(name, "/") || IsStandardFinalizer(name) {
		return nil
	}
	return field.Invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified")
}

// IsStandardFinalizer reports whether a finalizer without a domain is one of Kubernetes.
func IsStandardFinalizer(name string) bool {
	return name == "kubernetes" || name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents
}

// DedupOwnerReferences removes duplicate owner references and warns of them. isAdmitted means
// that mutating admission has changed the object.
func DedupOwnerReferences(obj Object, isAdmitted bool, warn func(text string)) {
	refs := obj.GetOwnerReferences()
	if len(refs) < 2 {
		return
	}
	kept, dropped := dedup(refs)
	if len(dropped) == 0 {
		return
	}
	obj.SetOwnerReferences(kept)
	when := ""
	if isAdmitted {
		when = " after mutating admission happens"
	}
	warn(".metadata.ownerReferences contains duplicate entries" + when + "; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
		strings.Join(dropped, ", "))
}

// dedup returns references without duplicates, and the UIDs of the duplicates.
func dedup(refs []metav1.OwnerReference) (kept []metav1.OwnerReference, dropped []string) {
	seen := make(map[ownerKey]struct{}, len(refs))
	for _, ref := range refs {
		key := ownerKeyOf(ref)
		if _, ok := seen[key]; ok {
			dropped = append(dropped, string(ref.UID))
			continue
		}
		seen[key] = struct{}{}
		kept = append(kept, ref)
	}
	return kept, dropped
}

// ownerKey is an owner reference in comparable form.
type ownerKey struct {
	ref                metav1.OwnerReference // without its pointers
	controller, blocks string
}

func ownerKeyOf(ref metav1.OwnerReference) ownerKey {
	key := ownerKey{ref: ref, controller: optionalBool(ref.Controller), blocks: optionalBool(ref.BlockOwnerDeletion)}
	key.ref.Controller, key.ref.BlockOwnerDeletion = nil, nil
	return key
}

func optionalBool(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

// MetadataPath returns the field path of metadata.
func MetadataPath() *field.Path { return field.NewPath("metadata") }
