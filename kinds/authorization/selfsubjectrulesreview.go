package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
)

// SelfSubjectRulesReview describes the kind SelfSubjectRulesReview, which lists the
// permissions of the user of the request in a namespace.
func SelfSubjectRulesReview() *api.Resource {
	return api.NewResource(api.Kind[*authorizationv1.SelfSubjectRulesReview]{
		Names: api.Names{
			Name: "selfsubjectrulesreviews", Singular: "selfsubjectrulesreview", Kind: "SelfSubjectRulesReview",
			Verbs: []string{api.VerbCreate},
		},
		Versions: api.WithOlderVersions(api.Served(authorizationv1.SchemeGroupVersion),
			api.SameFields[authorizationv1.SelfSubjectRulesReview,
				authorizationv1beta1.SelfSubjectRulesReview](authorizationv1beta1.SchemeGroupVersion)),
		Virtual: &api.Action{Source: "selfsubjectrulesreviews"},
	})
}
