package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// LocalSubjectAccessReview asks whether somebody may do something in a
// namespace, so that who owns that can be allowed to ask.
func LocalSubjectAccessReview() *api.Resource {
	return api.NewResource(api.Kind[*authorizationv1.LocalSubjectAccessReview]{
		Names: api.Names{
			Name: "localsubjectaccessreviews", Singular: "localsubjectaccessreview", Kind: "LocalSubjectAccessReview",
			Namespaced: true,
			Verbs:      []string{api.VerbCreate},
		},
		Versions: api.WithOlderVersions(api.Served(authorizationv1.SchemeGroupVersion),
			api.SameFields[authorizationv1.LocalSubjectAccessReview, authorizationv1beta1.LocalSubjectAccessReview](authorizationv1beta1.SchemeGroupVersion)),
		Create:  api.CreateStrategy[*authorizationv1.LocalSubjectAccessReview]{Validate: validation.Rules(localSubjectAccessReviewRules)},
		Virtual: &api.Virtual{Source: "localsubjectaccessreviews"},
	})
}
