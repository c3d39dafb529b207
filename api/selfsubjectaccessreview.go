package api

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
)

// selfSubjectAccessReview asks whether who asks may do something.
func selfSubjectAccessReview() *Resource {
	return &Resource{
		Name: "selfsubjectaccessreviews", Singular: "selfsubjectaccessreview", Kind: "SelfSubjectAccessReview",
		Verbs: []string{VerbCreate},
		Versions: older(served(authorizationv1.SchemeGroupVersion),
			alike[authorizationv1.SelfSubjectAccessReview, authorizationv1beta1.SelfSubjectAccessReview](authorizationv1beta1.SchemeGroupVersion)),
		New:      func() Object { return &authorizationv1.SelfSubjectAccessReview{} },
		Validate: rulesOf(selfSubjectAccessReviewRules),
		Virtual:  &Virtual{Source: "selfsubjectaccessreviews"},
	}
}
