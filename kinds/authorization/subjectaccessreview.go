package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
)

// SubjectAccessReview describes the kind SubjectAccessReview, which asks for the access of a
// user.
func SubjectAccessReview() *api.Resource {
	return api.NewResource(api.Kind[*authorizationv1.SubjectAccessReview]{
		Names: api.Names{
			Name: "subjectaccessreviews", Singular: "subjectaccessreview", Kind: "SubjectAccessReview",
			Verbs: []string{api.VerbCreate},
		},
		Versions: api.WithOlderVersions(api.Served(authorizationv1.SchemeGroupVersion),
			api.SameFields[authorizationv1.SubjectAccessReview, authorizationv1beta1.SubjectAccessReview](authorizationv1beta1.SchemeGroupVersion)),
		Checks:  api.Checks(api.Rules(subjectAccessReviewRules)),
		Virtual: &api.Action{Source: "subjectaccessreviews"},
	})
}
