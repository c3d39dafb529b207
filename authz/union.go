package authz

import (
	"context"
	"errors"
	"strings"

	"github.com/miniapiserver/miniapiserver/request"
)

// Union calls authorizers in order; the first one that allows or denies decides. If none does,
// Union has no opinion either and returns the reasons and errors of all.
type Union []Authorizer

// Authorize implements Authorizer.
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
