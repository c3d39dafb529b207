package api

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1alpha1 "k8s.io/api/authentication/v1alpha1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
)

// selfSubjectReview asks who one is.
func selfSubjectReview() *Resource {
	return &Resource{
		Name: "selfsubjectreviews", Singular: "selfsubjectreview", Kind: "SelfSubjectReview",
		Verbs: []string{VerbCreate},
		Versions: older(served(authenticationv1.SchemeGroupVersion),
			alike[authenticationv1.SelfSubjectReview, authenticationv1beta1.SelfSubjectReview](authenticationv1beta1.SchemeGroupVersion),
			alike[authenticationv1.SelfSubjectReview, authenticationv1alpha1.SelfSubjectReview](authenticationv1alpha1.SchemeGroupVersion)),
		New:     func() Object { return &authenticationv1.SelfSubjectReview{} },
		Virtual: &Virtual{Source: "selfsubjectreviews"},
	}
}
