package authz

import (
	"context"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/request"
)

// Union calls authorizers in order; the first one that allows or denies decides. If none does,
// Union has no opinion either and returns the reasons and errors of all, each reason after the
// name of its authorizer.
type Union []Named

// Named is an authorizer with its name in the configuration.
type Named struct {
	Name string
	Authorizer
}

// Authorize implements Authorizer.
func (u Union) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	var reasons []string
	var errs []error
	for _, a := range u {
		decision, reason, err := a.Authorize(ctx, user, info)
		if decision != NoOpinion {
			request.From(ctx).Account.Fact("mode", a.Name)
			return decision, reason, err
		}
		if reason != "" {
			reasons = append(reasons, a.Name+": "+reason)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return NoOpinion, strings.Join(reasons, "\n"), utilerrors.NewAggregate(errs)
}
