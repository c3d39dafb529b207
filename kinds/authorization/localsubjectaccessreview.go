package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
)

// LocalSubjectAccessReview describes the kind LocalSubjectAccessReview, which asks for the
// access of a user in a namespace. The owner of the namespace can be allowed to create it.
func LocalSubjectAccessReview() *api.Resource {
	return api.NewResource(api.Kind[*authorizationv1.LocalSubjectAccessReview]{
		Names: api.Names{
			Name: "localsubjectaccessreviews", Singular: "localsubjectaccessreview", Kind: "LocalSubjectAccessReview",
			Namespaced: true,
			Verbs:      []string{api.VerbCreate},
		},
		Versions: api.WithOlderVersions(api.Served(authorizationv1.SchemeGroupVersion),
			api.SameFields[authorizationv1.LocalSubjectAccessReview,
				authorizationv1beta1.LocalSubjectAccessReview](authorizationv1beta1.SchemeGroupVersion)),
		Checks:  api.Checks(api.Rules(localSubjectAccessReviewRules)),
		Virtual: &api.Action{Source: "localsubjectaccessreviews"},
	})
}
