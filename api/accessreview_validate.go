package api

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// Rules of the reviews of access: what is asked is about a resource or about a
// path, and nothing is said of the review itself.

func subjectAccessReviewRules(at *place, r *authorizationv1.SubjectAccessReview) {
	subjectRulesOf(at.of("spec"), &r.Spec)
	noMetadata(at, r.ObjectMeta, metav1.ObjectMeta{}, "must be empty")
}

func selfSubjectAccessReviewRules(at *place, r *authorizationv1.SelfSubjectAccessReview) {
	spec := at.of("spec")
	aboutOne(spec, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	present(spec.of("resourceAttributes"), r.Spec.ResourceAttributes, selectedRules)
	noMetadata(at, r.ObjectMeta, metav1.ObjectMeta{}, "must be empty")
}

func localSubjectAccessReviewRules(at *place, r *authorizationv1.LocalSubjectAccessReview) {
	subjectRulesOf(at.of("spec"), &r.Spec)
	noMetadata(at, r.ObjectMeta, metav1.ObjectMeta{Namespace: r.Namespace}, "must be empty except for namespace")
	if a := r.Spec.ResourceAttributes; a != nil && a.Namespace != r.Namespace {
		at.of("spec").of("resourceAttributes").of("namespace").invalid(a.Namespace, "must match metadata.namespace")
	}
	if a := r.Spec.NonResourceAttributes; a != nil {
		at.of("spec").of("nonResourceAttributes").invalid(*a, "disallowed on this kind of request")
	}
}

func subjectRulesOf(at *place, s *authorizationv1.SubjectAccessReviewSpec) {
	aboutOne(at, s.ResourceAttributes, s.NonResourceAttributes)
	if s.User == "" && len(s.Groups) == 0 {
		at.of("user").invalid(s.User, "at least one of user or group must be specified")
	}
	present(at.of("resourceAttributes"), s.ResourceAttributes, selectedRules)
}

// aboutOne: a question is about a resource or about a path.
func aboutOne(at *place, resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) {
	switch {
	case resource != nil && path != nil:
		at.of("nonResourceAttributes").invalid(*path, "cannot be specified in combination with resourceAttributes")
	case resource == nil && path == nil:
		at.of("resourceAttributes").invalid(path, "exactly one of nonResourceAttributes or resourceAttributes must be specified")
	}
}

// noMetadata: a review is not kept, so that it needs no name. What the server
// itself noted of its fields is no fault of the client.
func noMetadata(at *place, is, allowed metav1.ObjectMeta, detail string) {
	rest := is
	rest.ManagedFields = nil
	if !equality.Semantic.DeepEqual(rest, allowed) {
		at.of("metadata").invalid(is, detail)
	}
}

// selectedRules are for the selectors of what is asked: operators that are not
// known are ignored later on, since they may come from a newer client.
func selectedRules(at *place, a *authorizationv1.ResourceAttributes) {
	if s := a.FieldSelector; s != nil {
		at := at.of("fieldSelector")
		oneForm(at, s.RawSelector, len(s.Requirements))
		each(at.of("requirements"), s.Requirements, func(at *place, r *metav1.FieldSelectorRequirement) {
			at.add(metavalidation.ValidateFieldSelectorRequirement(*r,
				metavalidation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, at.path())...)
		})
	}
	if s := a.LabelSelector; s != nil {
		at := at.of("labelSelector")
		oneForm(at, s.RawSelector, len(s.Requirements))
		each(at.of("requirements"), s.Requirements, func(at *place, r *metav1.LabelSelectorRequirement) {
			at.add(metavalidation.ValidateLabelSelectorRequirement(*r,
				metavalidation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, at.path())...)
		})
	}
}

// oneForm: a selector is text or requirements.
func oneForm(at *place, raw string, requirements int) {
	if raw != "" && requirements > 0 {
		at.of("rawSelector").invalid(raw, "may not specified at the same time as requirements")
	}
	if raw == "" && requirements == 0 {
		at.of("requirements").required("when " + at.path().String() + " is specified, requirements or rawSelector is required")
	}
}
