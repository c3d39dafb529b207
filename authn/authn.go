// Package authn authenticates requests. Each method of authentication is one file and implements
// Authenticator (for requests) or Token (for bearer tokens); Union tries the methods in order. The
// request chain in handlers calls it. Methods that need API objects (service accounts, Secrets of
// bootstrap tokens) read them through a Lookup, which the server provides. Reviews implements the
// authentication APIs (TokenReview, TokenRequest, SelfSubjectReview), and Issuer signs service
// account tokens.
//
// An error of this package says why a credential was rejected. Errors appear in logs and in
// TokenReviews, so they never contain a secret.
package authn

import (
	"context"
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// Authenticator is one method of authenticating a request.
type Authenticator interface {
	// Authenticate returns the user and true; or false if the request carries no credential of this
	// method; or an error if the credential is invalid. An error makes the response a 401: the
	// request is never treated as anonymous.
	Authenticate(r *http.Request) (Identity, bool, error)
}

// Identity is the result of authenticating a credential.
type Identity struct {
	// User must not be changed: it may be shared between requests.
	User *request.User
	// Method is the name of the method that authenticated the credential, for the account of the request.
	Method string
	// Audiences are the requested audiences for which the credential is valid. It is empty if the
	// credential has no audiences and none were requested.
	Audiences []string
}

type audiencesKey struct{}

// withAudiences returns a context that requires credentials to be valid for one of the audiences.
// Without it credentials must be valid for this server.
func withAudiences(ctx context.Context, audiences []string) context.Context {
	return context.WithValue(ctx, audiencesKey{}, audiences)
}

func audiencesIn(ctx context.Context) ([]string, bool) {
	audiences, ok := ctx.Value(audiencesKey{}).([]string)
	return audiences, ok
}

// intersect returns the elements of wanted that are in have.
func intersect(have, wanted []string) []string {
	var both []string
	for _, audience := range wanted {
		if slices.Contains(have, audience) {
			both = append(both, audience)
		}
	}
	return both
}

// ForServer wraps tokens that carry no audiences: they are valid for the given audiences, which are
// the ones of this server.
func ForServer(audiences []string, tokens Token) Token {
	return forServer{audiences, tokens}
}

type forServer struct {
	audiences []string
	tokens    Token
}

func (f forServer) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	wanted, ok := audiencesIn(ctx)
	if !ok {
		return f.tokens.AuthenticateToken(ctx, token)
	}
	both := intersect(f.audiences, wanted)
	if len(both) == 0 {
		return Identity{}, false, nil
	}
	id, ok, err := f.tokens.AuthenticateToken(ctx, token)
	if ok {
		id.Audiences = both
	}
	return id, ok, err
}
