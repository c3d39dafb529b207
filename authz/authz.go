// Package authz authorizes requests. Each mode is an Authorizer; the request chain in handlers
// calls the configured ones once per request, after authentication.
package authz

import (
	"context"

	"github.com/miniapiserver/miniapiserver/request"
)

// Decision is the result of an Authorizer.
type Decision int

// A request is forbidden unless an authorizer allows it.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// Authorizer decides on one request of a user. The reason is part of the response to a forbidden
// request. An error means that the authorizer could not evaluate the request; it is added to the
// reason.
type Authorizer interface {
	Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error)
}
