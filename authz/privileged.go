package authz

import (
	"context"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// Privileged allows everything to members of the named group. It is the first authorizer, for
// system:masters, so that administrators can repair the configuration of later authorizers.
type Privileged string

// Authorize implements Authorizer.
func (p Privileged) Authorize(_ context.Context, user *request.User, _ *request.Info) (Decision, string, error) {
	if user != nil && slices.Contains(user.Groups, string(p)) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}
