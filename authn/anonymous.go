package authn

import (
	"net/http"

	"github.com/miniapiserver/miniapiserver/request"
)

// WithAnonymous lets requests that carry no credential in as system:anonymous.
// A credential that is not good stays an error: whoever sends one means to be
// somebody.
func WithAnonymous(known Authenticator) Authenticator { return orAnonymous{known} }

type orAnonymous struct{ known Authenticator }

func (o orAnonymous) Authenticate(r *http.Request) (*request.User, bool, error) {
	user, ok, err := o.known.Authenticate(r)
	if ok || err != nil {
		return user, ok, err
	}
	return &request.User{
		Name:   request.UserAnonymous,
		Groups: []string{request.GroupUnauthenticated},
	}, true, nil
}
