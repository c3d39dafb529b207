package authentication

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1alpha1 "k8s.io/api/authentication/v1alpha1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
)

// SelfSubjectReview describes the kind SelfSubjectReview, which returns the user of the
// request.
func SelfSubjectReview() *api.Resource {
	return api.NewResource(api.Kind[*authenticationv1.SelfSubjectReview]{
		Names: api.Names{
			Name: "selfsubjectreviews", Singular: "selfsubjectreview", Kind: "SelfSubjectReview",
			Verbs: []string{api.VerbCreate},
		},
		Versions: api.WithOlderVersions(api.Served(authenticationv1.SchemeGroupVersion),
			api.SameFields[authenticationv1.SelfSubjectReview, authenticationv1beta1.SelfSubjectReview](authenticationv1beta1.SchemeGroupVersion),
			api.SameFields[authenticationv1.SelfSubjectReview, authenticationv1alpha1.SelfSubjectReview](authenticationv1alpha1.SchemeGroupVersion)),
		Virtual: &api.Action{Source: "selfsubjectreviews"},
	})
}
