package api

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
)

// tokenReview asks whose a bearer token is.
func tokenReview() *Resource {
	return &Resource{
		Name: "tokenreviews", Singular: "tokenreview", Kind: "TokenReview",
		Verbs: []string{VerbCreate},
		Versions: older(served(authenticationv1.SchemeGroupVersion),
			alike[authenticationv1.TokenReview, authenticationv1beta1.TokenReview](authenticationv1beta1.SchemeGroupVersion)),
		New:     func() Object { return &authenticationv1.TokenReview{} },
		Virtual: &Virtual{Source: "tokenreviews"},
	}
}
