package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Validation of access reviews, which ask for access to a resource or to a path.

func subjectAccessReviewRules(at *validation.Path, r *authorizationv1.SubjectAccessReview) {
	subjectAccessSpecRules(at.Child("spec"), &r.Spec)
	refuseMetadata(at, r.ObjectMeta, metav1.ObjectMeta{}, "must be empty")
}

func selfSubjectAccessReviewRules(at *validation.Path, r *authorizationv1.SelfSubjectAccessReview) {
	spec := at.Child("spec")
	eitherAttributes(spec, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	validation.IfPresent(spec.Child("resourceAttributes"), r.Spec.ResourceAttributes, selectorAttributeRules)
	refuseMetadata(at, r.ObjectMeta, metav1.ObjectMeta{}, "must be empty")
}

func localSubjectAccessReviewRules(at *validation.Path, r *authorizationv1.LocalSubjectAccessReview) {
	subjectAccessSpecRules(at.Child("spec"), &r.Spec)
	refuseMetadata(at, r.ObjectMeta, metav1.ObjectMeta{Namespace: r.Namespace}, "must be empty except for namespace")
	if a := r.Spec.ResourceAttributes; a != nil && a.Namespace != r.Namespace {
		at.Child("spec").Child("resourceAttributes").Child("namespace").Invalid(a.Namespace, "must match metadata.namespace")
	}
	if a := r.Spec.NonResourceAttributes; a != nil {
		at.Child("spec").Child("nonResourceAttributes").Invalid(*a, "disallowed on this kind of request")
	}
}

func subjectAccessSpecRules(at *validation.Path, s *authorizationv1.SubjectAccessReviewSpec) {
	eitherAttributes(at, s.ResourceAttributes, s.NonResourceAttributes)
	if s.User == "" && len(s.Groups) == 0 {
		at.Child("user").Invalid(s.User, "at least one of user or group must be specified")
	}
	validation.IfPresent(at.Child("resourceAttributes"), s.ResourceAttributes, selectorAttributeRules)
}

// eitherAttributes validates that a review is for either a resource or a path.
func eitherAttributes(at *validation.Path, resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) {
	const either = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
	switch {
	case resource != nil && path != nil:
		at.Invalid(*path, either)
	case resource == nil && path == nil:
		at.Invalid(path, either)
	}
}

// refuseMetadata validates that a review has no metadata, because it is not stored.
// managedFields are ignored, because the server sets them.
func refuseMetadata(at *validation.Path, obj, allowed metav1.ObjectMeta, detail string) {
	rest := obj
	rest.ManagedFields = nil
	if !equality.Semantic.DeepEqual(rest, allowed) {
		at.Child("metadata").Invalid(obj, detail)
	}
}

// selectorAttributeRules validates the selectors of a review. Unknown operators are valid,
// because authorizers ignore such requirements: they may come from a newer client.
func selectorAttributeRules(at *validation.Path, a *authorizationv1.ResourceAttributes) {
	if s := a.FieldSelector; s != nil {
		at := at.Child("fieldSelector")
		eitherSelectorForm(at, s.RawSelector, len(s.Requirements))
		validation.Each(at.Child("requirements"), s.Requirements, func(at *validation.Path, r *metav1.FieldSelectorRequirement) {
			at.Add(metavalidation.ValidateFieldSelectorRequirement(*r,
				metavalidation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, at.ToField())...)
		})
	}
	if s := a.LabelSelector; s != nil {
		at := at.Child("labelSelector")
		eitherSelectorForm(at, s.RawSelector, len(s.Requirements))
		validation.Each(at.Child("requirements"), s.Requirements, func(at *validation.Path, r *metav1.LabelSelectorRequirement) {
			at.Add(metavalidation.ValidateLabelSelectorRequirement(*r,
				metavalidation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, at.ToField())...)
		})
	}
}

// eitherSelectorForm validates that a selector is either raw or a list of requirements.
func eitherSelectorForm(at *validation.Path, raw string, requirements int) {
	if raw != "" && requirements > 0 {
		at.Child("rawSelector").Invalid(raw, "may not specified at the same time as requirements")
	}
	if raw == "" && requirements == 0 {
		at.Child("requirements").Required("when " + at.ToField().String() + " is specified, requirements or rawSelector is required")
	}
}
