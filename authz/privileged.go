package authz

import (
	"context"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// Privileged allows everything to the members of the named group. The server
// asks it first, with system:masters, so that whoever administers the server
// can mend whatever later authorizers make of their configuration.
type Privileged string

// Authorize allows the members of the group.
func (p Privileged) Authorize(_ context.Context, user *request.User, _ *request.Info) (Decision, string, error) {
	if user != nil && slices.Contains(user.Groups, string(p)) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}
