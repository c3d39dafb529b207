package authn

import (
	"net/http"
	"slices"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/request"
)

// Union tries methods in order until one authenticates the request, and adds the group
// system:authenticated to the user. An invalid credential does not prevent a later method from
// finding a valid one; if none does, Union returns the error.
type Union []Authenticator

// Authenticate implements Authenticator.
func (u Union) Authenticate(r *http.Request) (Identity, bool, error) {
	var errs []error
	for _, method := range u {
		id, ok, err := method.Authenticate(r)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok:
			id.User = withAuthenticated(id.User)
			return id, true, nil
		}
	}
	return Identity{}, false, aggregate(errs)
}

// aggregate joins errors in the format of kube-apiserver, which TokenReviews contain: "[one,
// other]", without duplicates.
func aggregate(errs []error) error {
	if all := utilerrors.NewAggregate(errs); all != nil {
		return all
	}
	return nil
}

// withAuthenticated adds the group system:authenticated. It leaves out anonymous users, however
// they were authenticated, so that nobody is in both system:authenticated and
// system:unauthenticated.
func withAuthenticated(user *request.User) *request.User {
	if user.Name == request.UserAnonymous ||
		slices.Contains(user.Groups, request.GroupAuthenticated) ||
		slices.Contains(user.Groups, request.GroupUnauthenticated) {
		return user
	}
	with := *user
	with.Groups = append(slices.Clip(slices.Clone(user.Groups)), request.GroupAuthenticated)
	return &with
}
