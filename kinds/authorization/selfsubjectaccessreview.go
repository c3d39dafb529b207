package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
)

// SelfSubjectAccessReview describes the kind SelfSubjectAccessReview, which asks for the
// access of the user of the request.
func SelfSubjectAccessReview() *api.Resource {
	return api.NewResource(api.Kind[*authorizationv1.SelfSubjectAccessReview]{
		Names: api.Names{
			Name: "selfsubjectaccessreviews", Singular: "selfsubjectaccessreview", Kind: "SelfSubjectAccessReview",
			Verbs: []string{api.VerbCreate},
		},
		Versions: api.WithOlderVersions(api.Served(authorizationv1.SchemeGroupVersion),
			api.SameFields[authorizationv1.SelfSubjectAccessReview,
				authorizationv1beta1.SelfSubjectAccessReview](authorizationv1beta1.SchemeGroupVersion)),
		Checks:  api.Checks(api.Rules(selfSubjectAccessReviewRules)),
		Virtual: &api.Action{Source: "selfsubjectaccessreviews"},
	})
}
