package authn

import (
	"errors"
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// Union asks methods in order until one knows the user, who is then a member of
// system:authenticated too. A bad credential does not keep a later method from
// finding a good one, but if none does, it is the answer.
type Union []Authenticator

// Authenticate asks the methods about r.
func (u Union) Authenticate(r *http.Request) (*request.User, bool, error) {
	var errs []error
	for _, method := range u {
		user, ok, err := method.Authenticate(r)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok:
			return authenticated(user), true, nil
		}
	}
	return nil, false, errors.Join(errs...)
}

// authenticated adds the group that all known users are in. The anonymous user
// stays what it is, whichever way it comes: nobody may claim to be anonymous
// and known at a time.
func authenticated(user *request.User) *request.User {
	if user.Name == request.UserAnonymous ||
		slices.Contains(user.Groups, request.GroupAuthenticated) ||
		slices.Contains(user.Groups, request.GroupUnauthenticated) {
		return user
	}
	with := *user
	with.Groups = append(slices.Clip(slices.Clone(user.Groups)), request.GroupAuthenticated)
	return &with
}
