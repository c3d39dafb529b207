package api

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// tokenRequest asks for a token of a service account.
func tokenRequest() *Subresource {
	return &Subresource{
		Name: "token", Verbs: []string{VerbCreate},
		Kind: &Resource{
			Name: "tokenrequests", Singular: "tokenrequest", Kind: "TokenRequest",
			Namespaced: true,
			Versions:   served(authenticationv1.SchemeGroupVersion),
			New:        func() Object { return &authenticationv1.TokenRequest{} },
			Default:    func(obj Object) { defaultTokenRequest(obj.(*authenticationv1.TokenRequest)) },
			Validate:   rulesOf(tokenLifetimeRules),
		},
		KeepsSystemFields: true, // the uid of the account that is meant
		Check:             checkTokenRequest,
		Source:            "tokenrequests",
	}
}

// checkTokenRequest finds out whether a token is asked for the account that is
// there, and says in the request which that is.
func checkTokenRequest(p *Posted) error {
	r := p.Sent.(*authenticationv1.TokenRequest)
	kind := authenticationv1.SchemeGroupVersion.WithKind("TokenRequest").GroupKind()
	if r.Name != "" && r.Name != p.Name {
		return apierrors.NewInvalid(kind, p.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "name"), r.Name, "must match the service account name if specified")})
	}
	account, err := p.Object()
	if err != nil {
		return err
	}
	if r.UID != "" && r.UID != account.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, p.Name, fmt.Errorf(
			"the UID in the token request (%s) does not match the UID of the service account (%s)", r.UID, account.GetUID()))
	}
	r.Name, r.UID, r.Status = p.Name, account.GetUID(), authenticationv1.TokenRequestStatus{}
	return nil
}

// Bounds of how long a token is good, in seconds.
const (
	usualTokenLifetime    = 60 * 60
	shortestTokenLifetime = 10 * 60
	longestTokenLifetime  = 1 << 32
)

func defaultTokenRequest(r *authenticationv1.TokenRequest) {
	if r.Spec.ExpirationSeconds == nil {
		r.Spec.ExpirationSeconds = ptr.To[int64](usualTokenLifetime)
	}
}

func tokenLifetimeRules(at *place, r *authenticationv1.TokenRequest) {
	lifetime := at.of("spec").of("expirationSeconds")
	switch seconds := *r.Spec.ExpirationSeconds; {
	case seconds < shortestTokenLifetime:
		lifetime.invalid(seconds, "may not specify a duration less than 10 minutes")
	case seconds > longestTokenLifetime:
		lifetime.invalid(seconds, "may not specify a duration larger than 2^32 seconds")
	}
}
