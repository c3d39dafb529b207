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
	// AuthenticateToken returns whose it is and true; or false where the token
	// is none of this kind; or an error where it is one of this kind that is not
	// good. It must be safe for concurrent use.
	AuthenticateToken(ctx context.Context, token string) (Identity, bool, error)
}

// Tokens asks several kinds of tokens in order.
type Tokens []Token

// AuthenticateToken implements Token. What one kind finds wrong with the token
// does not keep a later one from knowing it.
func (t Tokens) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	var errs []error
	for _, kind := range t {
		id, ok, err := kind.AuthenticateToken(ctx, token)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok:
			return id, true, nil
		}
	}
	return Identity{}, false, aggregate(errs)
}

// Bearer is the method of "Authorization: Bearer TOKEN". A token that its kinds
// do not know is an error: who sends one means to be somebody, and must not
// silently become nobody.
type Bearer struct{ Tokens Token }

// errBadToken is about a token that is nobody's.
var errBadToken = errors.New("invalid bearer token")

// Authenticate looks up the bearer token of r.
func (b Bearer) Authenticate(r *http.Request) (Identity, bool, error) {
	token, spaced := bearerToken(r.Header.Get("Authorization"))
	if token == "" {
		if spaced {
			request.From(r.Context()).Warn("the provided Authorization header contains extra space before the bearer token, and is ignored")
		}
		return Identity{}, false, nil
	}
	id, ok, err := b.Tokens.AuthenticateToken(r.Context(), token)
	switch {
	case err != nil:
		return Identity{}, false, err
	case !ok:
		return Identity{}, false, errBadToken
	}
	// Nothing further in has any use for the secret: it must not reach logs,
	// audit events or a proxied backend.
	r.Header.Del("Authorization")
	return id, true, nil
}

// bearerToken reads the token out of an Authorization header. A header of
// another scheme carries none, and neither does one in which more than one space
// stands before it.
func bearerToken(header string) (token string, spaced bool) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token, _, more := strings.Cut(rest, " ")
	return token, more && token == ""
}
