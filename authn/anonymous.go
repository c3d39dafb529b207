package authn

import (
	"net/http"
	"slices"

	"github.com/miniapiserver/miniapiserver/request"
)

// WithAnonymous authenticates requests without a credential as system:anonymous, if paths are given
// only requests to one of them. An invalid credential remains an error, because a client that sends
// one must not silently become anonymous.
func WithAnonymous(next Authenticator, paths ...string) Authenticator {
	return orAnonymous{next, paths}
}

type orAnonymous struct {
	next  Authenticator
	paths []string
}

func (o orAnonymous) Authenticate(r *http.Request) (Identity, bool, error) {
	id, ok, err := o.next.Authenticate(r)
	if ok || err != nil {
		return id, ok, err
	}
	if len(o.paths) > 0 && (r.URL == nil || !slices.Contains(o.paths, r.URL.Path)) {
		return Identity{}, false, nil
	}
	audiences, _ := audiencesIn(r.Context())
	return Identity{Method: "anonymous", Audiences: audiences, User: &request.User{
		Name:   request.UserAnonymous,
		Groups: []string{request.GroupUnauthenticated},
	}}, true, nil
}
