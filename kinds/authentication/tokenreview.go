package authentication

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
)

// TokenReview describes the kind TokenReview, which returns the user of a bearer token.
func TokenReview() *api.Resource {
	return api.NewResource(api.Kind[*authenticationv1.TokenReview]{
		Names: api.Names{Name: "tokenreviews", Singular: "tokenreview", Kind: "TokenReview", Verbs: []string{api.VerbCreate}},
		Versions: api.WithOlderVersions(api.Served(authenticationv1.SchemeGroupVersion),
			api.SameFields[authenticationv1.TokenReview, authenticationv1beta1.TokenReview](authenticationv1beta1.SchemeGroupVersion)),
		Confidential: []string{"spec.token"},
		Virtual:      &api.Action{Source: "tokenreviews"},
	})
}
