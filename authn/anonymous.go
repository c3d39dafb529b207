package authn

import (
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// WithAnonymous lets requests that carry no credential in as system:anonymous;
// where paths are given, only those to one of them. A credential that is not
// good stays an error: whoever sends one means to be somebody.
func WithAnonymous(known Authenticator, paths ...string) Authenticator {
	return orAnonymous{known, paths}
}

type orAnonymous struct {
	known Authenticator
	paths []string
}

func (o orAnonymous) Authenticate(r *http.Request) (Identity, bool, error) {
	id, ok, err := o.known.Authenticate(r)
	if ok || err != nil {
		return id, ok, err
	}
	if len(o.paths) > 0 && (r.URL == nil || !slices.Contains(o.paths, r.URL.Path)) {
		return Identity{}, false, nil
	}
	audiences, _ := audiencesIn(r.Context())
	return Identity{Audiences: audiences, User: &request.User{
		Name:   request.UserAnonymous,
		Groups: []string{request.GroupUnauthenticated},
	}}, true, nil
}
