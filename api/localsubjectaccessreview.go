package api

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
)

// localSubjectAccessReview asks whether somebody may do something in a
// namespace, so that who owns that can be allowed to ask.
func localSubjectAccessReview() *Resource {
	return &Resource{
		Name: "localsubjectaccessreviews", Singular: "localsubjectaccessreview", Kind: "LocalSubjectAccessReview",
		Namespaced: true,
		Verbs:      []string{VerbCreate},
		Versions: older(served(authorizationv1.SchemeGroupVersion),
			alike[authorizationv1.LocalSubjectAccessReview, authorizationv1beta1.LocalSubjectAccessReview](authorizationv1beta1.SchemeGroupVersion)),
		New:      func() Object { return &authorizationv1.LocalSubjectAccessReview{} },
		Validate: rulesOf(localSubjectAccessReviewRules),
		Virtual:  &Virtual{Source: "localsubjectaccessreviews"},
	}
}
