package authentication

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TokenRequest describes the subresource serviceaccounts/token, which issues a token.
func TokenRequest(gates features.Gates) *api.Action {
	return &api.Action{
		Name: "token",
		Kind: api.NewResource(api.Kind[*authenticationv1.TokenRequest]{
			Names:    api.Names{Name: "tokenrequests", Singular: "tokenrequest", Kind: "TokenRequest", Namespaced: true},
			Versions: api.Served(authenticationv1.SchemeGroupVersion),
			Default:  func(obj *authenticationv1.TokenRequest) { defaultTokenRequest(obj) },
			Checks:   api.Checks(api.Rules(tokenLifetimeRules)),

			Confidential: []string{"status.token"},
		}),
		KeepsSystemFields: true, // checkTokenRequest compares the uid
		Check:             api.Checking(tokenRequestCheck(gates.Enabled(features.TokenRequestServiceAccountUIDValidation))),
		Source:            "tokenrequests",
	}
}

// tokenRequestCheck returns the check of a request.
func tokenRequestCheck(checksUID bool) func(*api.ActionRequest, *authenticationv1.TokenRequest) error {
	return func(p *api.ActionRequest, r *authenticationv1.TokenRequest) error {
		return checkTokenRequest(p, r, checksUID)
	}
}

// checkTokenRequest validates that name and UID in the request, if any, are those of the
// service account, and sets them otherwise. Without checksUID another UID is left for the issuer of
// the token, which warns about it.
func checkTokenRequest(p *api.ActionRequest, r *authenticationv1.TokenRequest, checksUID bool) error {
	kind := authenticationv1.SchemeGroupVersion.WithKind("TokenRequest").GroupKind()
	if r.Name != "" && r.Name != p.Name {
		return apierrors.NewInvalid(kind, p.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "name"), r.Name, "must match the service account name if specified")})
	}
	account, err := p.Object()
	if err != nil {
		return err
	}
	r.Status = authenticationv1.TokenRequestStatus{}
	switch other := r.UID != "" && r.UID != account.GetUID(); {
	case other && checksUID:
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, p.Name, fmt.Errorf(
			"the UID in the token request (%s) does not match the UID of the service account (%s)", r.UID, account.GetUID()))
	case !other:
		r.UID = account.GetUID()
	}
	r.Name = p.Name
	return nil
}

// Default and bounds of the lifetime of a token, in seconds.
const (
	defaultTokenLifetime = 60 * 60
	minTokenLifetime     = 10 * 60
	maxTokenLifetime     = 1 << 32
)

func defaultTokenRequest(r *authenticationv1.TokenRequest) {
	if r.Spec.ExpirationSeconds == nil {
		r.Spec.ExpirationSeconds = ptr.To[int64](defaultTokenLifetime)
	}
}

func tokenLifetimeRules(at *validation.Path, r *authenticationv1.TokenRequest) {
	lifetime := at.Child("spec").Child("expirationSeconds")
	switch seconds := *r.Spec.ExpirationSeconds; {
	case seconds < minTokenLifetime:
		lifetime.Invalid(seconds, "may not specify a duration less than 10 minutes")
	case seconds > maxTokenLifetime:
		lifetime.Invalid(seconds, "may not specify a duration larger than 2^32 seconds")
	}
}
