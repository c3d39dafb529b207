package api

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
)

// subjectAccessReview asks whether somebody may do something.
func subjectAccessReview() *Resource {
	return &Resource{
		Name: "subjectaccessreviews", Singular: "subjectaccessreview", Kind: "SubjectAccessReview",
		Verbs: []string{VerbCreate},
		Versions: older(served(authorizationv1.SchemeGroupVersion),
			alike[authorizationv1.SubjectAccessReview, authorizationv1beta1.SubjectAccessReview](authorizationv1beta1.SchemeGroupVersion)),
		New:      func() Object { return &authorizationv1.SubjectAccessReview{} },
		Validate: rulesOf(subjectAccessReviewRules),
		Virtual:  &Virtual{Source: "subjectaccessreviews"},
	}
}
