package authn

import (
	"net/http"
	"slices"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/request"
)

// Union asks methods in order until one knows the user, who is then a member of
// system:authenticated too. A bad credential does not keep a later method from
// finding a good one, but if none does, it is the answer.
type Union []Authenticator

// Authenticate asks the methods about r.
func (u Union) Authenticate(r *http.Request) (Identity, bool, error) {
	var errs []error
	for _, method := range u {
		id, ok, err := method.Authenticate(r)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ok:
			id.User = authenticated(id.User)
			return id, true, nil
		}
	}
	return Identity{}, false, aggregate(errs)
}

// aggregate makes one error of several. Its text is kube-apiserver's, which
// TokenReviews show: "[one, other]", each once.
func aggregate(errs []error) error {
	if all := utilerrors.NewAggregate(errs); all != nil {
		return all
	}
	return nil
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
