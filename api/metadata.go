package api

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CheckCreate tells all that is wrong with a new object: its metadata, what the
// kind asks for, and what requests of version v must keep to. obj must have its
// name, namespace and everything that the server sets.
func (r *Resource) CheckCreate(v *Version, obj Object) field.ErrorList {
	errs := r.ValidateMetadata(obj)
	if v != nil && v.Validate != nil {
		errs = append(errs, v.Validate(obj)...)
	}
	if r.Validate != nil {
		errs = append(errs, r.Validate(obj)...)
	}
	if r.ValidateCreate != nil {
		errs = append(errs, r.ValidateCreate(obj)...)
	}
	if len(errs) > 0 {
		return errs
	}
	return checkSegments(obj)
}

// checkSegments checks that the names in metadata, which is right otherwise, can
// stand in a path.
func checkSegments(obj Object) (errs field.ErrorList) {
	if prefix := obj.GetGenerateName(); prefix != "" {
		for _, fault := range segmentName(prefix, true) {
			errs = append(errs, field.Invalid(metadataPath().Child("generateName"), prefix, fault))
		}
	}
	for _, fault := range segmentName(obj.GetName(), false) {
		errs = append(errs, field.Invalid(metadataPath().Child("name"), obj.GetName(), fault))
	}
	return errs
}

// CheckUpdate tells all that is wrong with obj in the place of old. obj must
// have a resourceVersion. Faults of metadata are found more than once, by rules
// that overlap, and are listed as often, as kube-apiserver does; what is put
// into a message from them says each once.
func (r *Resource) CheckUpdate(v *Version, obj, old Object) field.ErrorList {
	errs := r.checkMetadata(obj, segmentName)
	errs = append(errs, r.validateMetadataUpdateTwice(obj, old)...)
	if v != nil && v.ValidateUpdate != nil {
		errs = append(errs, v.ValidateUpdate(obj, old)...)
	}
	if r.WholeUpdate {
		if r.MetadataRevalidated {
			errs = append(errs, r.ValidateMetadata(obj)...)
		}
		return append(errs, r.ValidateUpdate(obj, old)...)
	}
	if r.ValidateUpdate != nil {
		errs = append(errs, r.ValidateUpdate(obj, old)...)
	}
	if r.MetadataRevalidated {
		errs = append(errs, r.ValidateMetadata(obj)...)
	}
	if r.Validate != nil {
		errs = append(errs, r.Validate(obj)...)
	}
	return errs
}

// CheckStatusUpdate is CheckUpdate for the status subresource, where nothing but
// metadata and status can have changed.
func (r *Resource) CheckStatusUpdate(obj, old Object) field.ErrorList {
	errs := r.checkMetadata(obj, segmentName)
	errs = append(errs, r.validateMetadataUpdateTwice(obj, old)...)
	if r.ValidateStatusUpdate != nil {
		errs = append(errs, r.ValidateStatusUpdate(obj, old)...)
	}
	return errs
}

// ValidateMetadata checks the metadata of a new object.
func (r *Resource) ValidateMetadata(obj Object) field.ErrorList {
	return append(r.checkMetadata(obj, r.validateName), r.checkFinalizers(obj)...)
}

// checkMetadata tells what is wrong with metadata by kube-apiserver's rules for all
// kinds, with names as validName has them.
func (r *Resource) checkMetadata(obj Object, validName validation.ValidateNameFunc) field.ErrorList {
	if name, prefix := obj.GetName(), obj.GetGenerateName(); name != "" && len(validName(name, false)) == 0 &&
		(prefix == "" || len(validName(prefix, true)) == 0) && plainMetadata(obj, r.Namespaced) {
		return nil
	}
	return validation.ValidateObjectMetaAccessor(obj, r.Namespaced, validName, metadataPath())
}

// checkMetadataUpdate does so for what may not change.
func (r *Resource) checkMetadataUpdate(obj, old Object) field.ErrorList {
	if plainMetadata(obj, r.Namespaced) && plainChange(obj, old) {
		return nil
	}
	return validation.ValidateObjectMetaAccessorUpdate(obj, old, metadataPath())
}

// ValidateMetadataUpdate checks that metadata changed only where it may.
func (r *Resource) ValidateMetadataUpdate(obj, old Object) field.ErrorList {
	return append(r.checkMetadataUpdate(obj, old), r.checkFinalizers(obj)...)
}

// validateMetadataUpdateTwice says what kube-apiserver's rules for all kinds find
// and then those of the kind, which are the same but for finalizers.
func (r *Resource) validateMetadataUpdateTwice(obj, old Object) field.ErrorList {
	errs := r.checkMetadataUpdate(obj, old)
	return slices.Concat(errs, errs, r.checkFinalizers(obj))
}

// checkFinalizers refuses names without a domain that are not Kubernetes' own.
func (r *Resource) checkFinalizers(obj Object) field.ErrorList {
	if r.LooseFinalizers || len(obj.GetFinalizers()) == 0 {
		return nil
	}
	return finalizerNames(obj.GetFinalizers(), metadataPath().Child("finalizers"))
}

func finalizerNames(names []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		if err := finalizerName(name, at.Index(i)); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func finalizerName(name string, at *field.Path) *field.Error {
	switch {
	case strings.Contains(name, "/"),
		name == "kubernetes", name == metav1.FinalizerOrphanDependents, name == metav1.FinalizerDeleteDependents:
		return nil
	}
	return field.Invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified")
}

// DedupOwnerReferences drops owner references that stand there twice, and
// returns the warning that clients get for them.
func DedupOwnerReferences(obj Object) []string {
	kept, dropped := dedup(obj.GetOwnerReferences())
	if len(dropped) == 0 {
		return nil
	}
	obj.SetOwnerReferences(kept)
	return duplicateWarning(dropped)
}

// MetadataWarnings are said of every object that is written, whatever its kind.
func MetadataWarnings(obj Object) []string {
	_, dropped := dedup(obj.GetOwnerReferences())
	if len(dropped) == 0 {
		return nil
	}
	return duplicateWarning(dropped)
}

func duplicateWarning(uids []string) []string {
	return []string{".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
		strings.Join(uids, ", ")}
}

// dedup splits references into the first of each and the uids of the others.
func dedup(refs []metav1.OwnerReference) (kept []metav1.OwnerReference, dropped []string) {
	for _, ref := range refs {
		same := func(k metav1.OwnerReference) bool {
			return k.UID == ref.UID && equality.Semantic.DeepEqual(k, ref)
		}
		if slices.ContainsFunc(kept, same) {
			dropped = append(dropped, string(ref.UID))
			continue
		}
		kept = append(kept, ref)
	}
	return kept, dropped
}

func metadataPath() *field.Path { return field.NewPath("metadata") }
