package authz

import (
	"context"

	"github.com/miniapiserver/miniapiserver/request"
)

// Public allows everybody, known or anonymous, to read whether the server is
// well and which version it is: what kube-apiserver grants by its cluster role
// system:public-info-viewer. Single checks below /healthz, /livez and /readyz
// are not public, since they tell what the server is made of.
type Public struct{}

// Authorize allows reads of the public paths.
func (Public) Authorize(_ context.Context, _ *request.User, info *request.Info) (Decision, string, error) {
	if info.IsResource || info.Verb != "get" {
		return NoOpinion, "", nil
	}
	switch info.Path {
	case "/healthz", "/livez", "/readyz", "/version", "/version/":
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}
