package api

import (
	"slices"
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// CheckCreate validates a new object: its metadata, the rules of version v, the rules of the
// kind, and those of its Go type. The server must have set all fields that it owns.
func (r *Resource) CheckCreate(v *Version, obj Object) field.ErrorList {
	var errs field.ErrorList
	if !r.Create.MetadataLast {
		errs = r.ValidateMetadata(obj)
	}
	if v != nil && v.Validate != nil {
		errs = append(errs, v.Validate(obj)...)
	}
	if r.Create.Validate != nil {
		errs = append(errs, r.Create.Validate(obj)...)
	}
	if r.Create.ValidateOnCreate != nil {
		errs = append(errs, r.Create.ValidateOnCreate(obj)...)
	}
	errs = r.withDeclared(v, obj, nil, errs)
	if r.Create.MetadataLast && len(errs) == 0 {
		errs = distinct(r.ValidateMetadata(obj), true)
	}
	if len(errs) == 0 {
		errs = checkSegments(obj)
	}
	return errs
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

// CheckUpdate validates an update of old to obj, which must have a resourceVersion. Like
// kube-apiserver it lists some errors in the metadata of custom kinds several times, because
// validation functions overlap; the message to the client contains each once.
func (r *Resource) CheckUpdate(v *Version, obj, old Object) field.ErrorList {
	isPlain := r.isPlainUpdate(obj, old)
	var errs field.ErrorList
	switch {
	case isPlain:
	case r.Update.NewMetadataFirst:
		errs = slices.Concat(r.checkMetadata(obj, validation.SegmentName), r.checkMetadataUpdate(obj, old), r.ValidateMetadata(obj))
	default:
		errs = r.metadataUpdateErrors(obj, old)
	}
	if v != nil && v.ValidateUpdate != nil {
		errs = append(errs, v.ValidateUpdate(obj, old)...)
	}
	if r.Update.ValidateUpdateIsComplete {
		if r.Update.RevalidateMetadata && !isPlain {
			errs = append(errs, r.ValidateMetadata(obj)...)
		}
		return r.withDeclared(v, obj, old, append(errs, r.Update.ValidateUpdate(obj, old)...))
	}
	if r.Update.ValidateUpdate != nil {
		errs = append(errs, r.Update.ValidateUpdate(obj, old)...)
	}
	if r.Update.RevalidateMetadata && !isPlain {
		errs = append(errs, r.ValidateMetadata(obj)...)
	}
	if r.Create.Validate != nil {
		errs = append(errs, r.Create.Validate(obj)...)
	}
	return r.withDeclared(v, obj, old, errs)
}

// Warnings returns the warnings for a valid object that is written; old is nil for a
// new one.
func (r *Resource) Warnings(obj, old Object) []string {
	switch {
	case old == nil && r.Create.WarningsOnCreate != nil:
		return r.Create.WarningsOnCreate(obj)
	case old != nil && r.Update.WarningsOnUpdate != nil:
		return r.Update.WarningsOnUpdate(obj, old)
	}
	return nil
}

// CheckStatusUpdate validates an update through the status subresource, which changes only
// metadata and status.
func (r *Resource) CheckStatusUpdate(v *Version, obj, old Object) field.ErrorList {
	var errs field.ErrorList
	switch {
	case r.isPlainUpdate(obj, old):
	case r.Status.SkipFinalizers:
		errs = append(r.checkMetadata(obj, validation.SegmentName), r.checkMetadataUpdate(obj, old)...)
	default:
		errs = r.metadataUpdateErrors(obj, old)
	}
	if r.Status.ValidateUpdate != nil {
		errs = append(errs, r.Status.ValidateUpdate(obj, old)...)
	}
	return r.withDeclared(v, obj, old, errs)
}

// CheckPartUpdate validates an update through a subresource that changes a part of the object.
func (r *Resource) CheckPartUpdate(v *Version, sub *Subresource, obj, old Object) field.ErrorList {
	var errs field.ErrorList
	if !r.isPlainUpdate(obj, old) {
		errs = r.metadataUpdateErrors(obj, old)
		if sub.RevalidateMetadata {
			errs = append(errs, r.ValidateMetadata(obj)...)
		}
	}
	if sub.Validate != nil {
		errs = append(errs, sub.Validate(obj, old)...)
	}
	return r.withDeclared(v, obj, old, errs)
}

// ValidateMetadata validates the metadata of a new object.
func (r *Resource) ValidateMetadata(obj Object) field.ErrorList {
	validName := r.validateName
	if r.Create.ValidateNameOf != nil {
		validName = func(name string, prefix bool) []string { return r.Create.ValidateNameOf(obj, name, prefix) }
	}
	return append(r.checkMetadata(obj, validName), r.checkFinalizers(obj)...)
}

// checkMetadata validates metadata by the rules that all kinds share; validName validates
// name and generateName.
func (r *Resource) checkMetadata(obj Object, validName apivalidation.ValidateNameFunc) field.ErrorList {
	if r.MetadataFault != nil {
		if err := r.MetadataFault(obj); err != nil {
			return field.ErrorList{err}
		}
	}
	if name, prefix := obj.GetName(), obj.GetGenerateName(); name != "" && len(validName(name, false)) == 0 &&
		(prefix == "" || len(validName(prefix, true)) == 0) && plainMetadata(obj, r.Namespaced) {
		return nil
	}
	return apivalidation.ValidateObjectMetaAccessor(obj, r.Namespaced, validName, MetadataPath())
}

// checkMetadataUpdate validates that immutable metadata did not change.
func (r *Resource) checkMetadataUpdate(obj, old Object) field.ErrorList {
	if plainMetadata(obj, r.Namespaced) && plainChange(obj, old) {
		return nil
	}
	return apivalidation.ValidateObjectMetaAccessorUpdate(obj, old, MetadataPath())
}

// metadataUpdateErrors returns the errors in the metadata of an update. It has the errors of
// checkMetadataUpdate twice: kube-apiserver calls that validation for all kinds and again in
// the strategy of each kind.
func (r *Resource) metadataUpdateErrors(obj, old Object) field.ErrorList {
	errs := r.checkMetadataUpdate(obj, old)
	return slices.Concat(r.checkMetadata(obj, validation.SegmentName), errs, errs, r.checkFinalizers(obj))
}

// isPlainUpdate is a fast path of validation: if it returns true, the metadata of obj is a valid
// change of the metadata of old. For kinds with RevalidateMetadata it applies the rules of new
// objects, too.
func (r *Resource) isPlainUpdate(obj, old Object) bool {
	name, prefix := obj.GetName(), obj.GetGenerateName()
	if !validation.FastDNSLabel(name) || prefix != "" && len(validation.SegmentName(prefix, true)) > 0 {
		return false
	}
	// A DNS label is also a subdomain, which is the format of names of most kinds.
	if r.Update.RevalidateMetadata && (r.Create.ValidateNameOf != nil || r.Create.ValidateName != nil && len(r.Create.ValidateName(name, false)) > 0 ||
		prefix != "" && len(r.validateName(prefix, true)) > 0) {
		return false
	}
	return plainMetadata(obj, r.Namespaced) && plainChange(obj, old) && (r.MetadataFault == nil || r.MetadataFault(obj) == nil)
}

// checkFinalizers validates finalizers unless the kind allows any name.
func (r *Resource) checkFinalizers(obj Object) field.ErrorList {
	if r.Create.AllowUnqualifiedFinalizers || len(obj.GetFinalizers()) == 0 {
		return nil
	}
	return FinalizerNames(obj.GetFinalizers(), MetadataPath().Child("finalizers"))
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

// validateName returns one message per error in a name or generateName.
func (r *Resource) validateName(name string, prefix bool) []string {
	if r.Create.ValidateName == nil {
		return validation.SubdomainName(name, prefix)
	}
	return r.Create.ValidateName(name, prefix)
}
