package api

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
)

// selfSubjectRulesReview asks what who asks may do in a namespace.
func selfSubjectRulesReview() *Resource {
	return &Resource{
		Name: "selfsubjectrulesreviews", Singular: "selfsubjectrulesreview", Kind: "SelfSubjectRulesReview",
		Verbs: []string{VerbCreate},
		Versions: older(served(authorizationv1.SchemeGroupVersion),
			alike[authorizationv1.SelfSubjectRulesReview, authorizationv1beta1.SelfSubjectRulesReview](authorizationv1beta1.SchemeGroupVersion)),
		New:     func() Object { return &authorizationv1.SelfSubjectRulesReview{} },
		Virtual: &Virtual{Source: "selfsubjectrulesreviews"},
	}
}
