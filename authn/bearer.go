package authn

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/miniapiserver/miniapiserver/request"
)

// Token is one kind of bearer token.
type Token interface {
	// AuthenticateToken returns the user and true; or false if the token is not of this kind; or an
	// error if it is of this kind but invalid. It is safe for concurrent use.
	AuthenticateToken(ctx context.Context, token string) (Identity, bool, error)
}

// Tokens tries several kinds of tokens in order.
type Tokens []Token

// AuthenticateToken implements Token. An error of one kind does not prevent a later one from
// authenticating the token.
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

// Bearer authenticates requests by the header "Authorization: Bearer TOKEN". An unknown token is an
// error, because a client that sends one must not silently become anonymous.
type Bearer struct{ Tokens Token }

// errBadToken reports a token that no kind recognises.
var errBadToken = errors.New("invalid bearer token")

// Authenticate implements Authenticator.
func (b Bearer) Authenticate(r *http.Request) (Identity, bool, error) {
	token, hasExtraSpace := bearerToken(r.Header.Get("Authorization"))
	if token == "" {
		if hasExtraSpace {
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
	// The token must not reach logs, audit events or the backend of a proxied request.
	r.Header.Del("Authorization")
	return id, true, nil
}

// bearerToken returns the token in an Authorization header, or "" if the scheme is not Bearer.
// hasExtraSpace reports that more than one space precedes the token, in which case it is ignored.
func bearerToken(header string) (token string, hasExtraSpace bool) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token, _, more := strings.Cut(rest, " ")
	return token, more && token == ""
}
