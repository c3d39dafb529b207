package authn

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/miniapiserver/miniapiserver/request"
)

// Token is one way of knowing whose a bearer token is.
type Token interface {
	// AuthenticateToken returns the user and true; or false where the token is
	// none of this kind; or an error where it is one of this kind that is not
	// good.
	AuthenticateToken(ctx context.Context, token string) (*request.User, bool, error)
}

// Bearer is the method of "Authorization: Bearer TOKEN". It asks each kind of
// token in order. A token that none of them knows is an error: who sends one
// means to be somebody, and must not silently become nobody.
type Bearer []Token

// errBadToken is about a token that is nobody's.
var errBadToken = errors.New("invalid bearer token")

// Authenticate looks up the bearer token of r.
func (b Bearer) Authenticate(r *http.Request) (*request.User, bool, error) {
	token, ok := bearerToken(r.Header.Get("Authorization"))
	if !ok {
		return nil, false, nil
	}
	var errs []error
	for _, kind := range b {
		user, ok, err := kind.AuthenticateToken(r.Context(), token)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok:
			// Nothing further in has any use for the secret: it must not reach
			// logs, audit events or a proxied backend.
			r.Header.Del("Authorization")
			return user, true, nil
		}
	}
	if len(errs) == 0 {
		return nil, false, errBadToken
	}
	return nil, false, errors.Join(errs...)
}

// bearerToken reads the token out of an Authorization header. A header of
// another scheme carries none, and neither does an empty token.
func bearerToken(header string) (string, bool) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token, _, _ := strings.Cut(rest, " ")
	return token, token != ""
}
