package authz

import (
	"context"
	"errors"
	"strings"

	"github.com/miniapiserver/miniapiserver/request"
)

// Union asks authorizers in order; the first that allows or denies decides. If
// none does it has no opinion either, and gives the reasons of all.
type Union []Authorizer

// Authorize asks the authorizers.
func (u Union) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	var reasons []string
	var errs []error
	for _, a := range u {
		decision, reason, err := a.Authorize(ctx, user, info)
		if decision != NoOpinion {
			return decision, reason, err
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return NoOpinion, strings.Join(reasons, "\n"), errors.Join(errs...)
}
