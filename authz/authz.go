// Package authz decides whether a user may do what a request asks for. An
// Authorizer is one mode; the chain in handlers asks it once a request, after
// authentication.
package authz

import (
	"context"

	"github.com/miniapiserver/miniapiserver/request"
)

// Decision is what an Authorizer says.
type Decision int

// An authorizer has no opinion unless it allows or denies; what nobody allows
// is refused.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// Authorizer decides about one request of a user. The reason is shown to the
// client after a refusal; an error means that the authorizer could not find
// out, and is added to the reason.
type Authorizer interface {
	Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error)
}
