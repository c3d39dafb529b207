package api

import (
	authenticationv1 "k8s.io/api/authentication/v1"
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
		Source: "tokenrequests",
	}
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
