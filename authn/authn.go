// Package authn finds out who asks. Each method of authentication is one file
// and an Authenticator (of requests) or a Token (of bearer tokens); Union tries
// them in order. The chain in handlers calls it. Methods that need objects
// (service accounts, Secrets of bootstrap tokens) read them through a Lookup,
// which the server satisfies; the reviews at the end of the alphabet answer the
// API's questions of the same matters, and Issuer makes tokens.
//
// Errors of this package say why a credential is not good. They go into the log
// and into TokenReviews, and so never hold a secret.
package authn

import (
	"context"
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// Authenticator is one way of finding out who sent a request.
type Authenticator interface {
	// Authenticate returns who it was and true; or false where the request
	// carries no credential of this kind; or an error where it carries one
	// that is not good, which makes the request a 401 and never anonymous.
	Authenticate(r *http.Request) (Identity, bool, error)
}

// Identity is what a credential tells.
type Identity struct {
	// User is whose it is. It must not be changed: others may hold it too.
	User *request.User
	// Audiences are those of the ones asked for that the credential is meant
	// for; empty where it says nothing of the kind and nobody asked.
	Audiences []string
}

type audiencesKey struct{}

// WithAudiences returns a context in which credentials must be meant for one of
// the audiences. In any other they must be meant for this server.
func WithAudiences(ctx context.Context, audiences []string) context.Context {
	return context.WithValue(ctx, audiencesKey{}, audiences)
}

func audiencesIn(ctx context.Context) ([]string, bool) {
	audiences, ok := ctx.Value(audiencesKey{}).([]string)
	return audiences, ok
}

// intersect keeps those of wanted that are in have.
func intersect(have, wanted []string) []string {
	var both []string
	for _, audience := range wanted {
		if slices.Contains(have, audience) {
			both = append(both, audience)
		}
	}
	return both
}

// ForServer is a kind of token that says nothing of audiences: it is meant for
// this server, which goes by the names that are given.
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
