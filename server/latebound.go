package server

import (
	"context"
	"maps"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// writeGuards are the parts of the server that the registry calls during writes: admission,
// access checks and reviews. They read from the registry themselves. The registry is
// therefore made with an empty writeGuards, which guardWrites fills in before anything is
// served.
type writeGuards struct {
	admission registry.Admission
	access    api.Access
	reviews   map[string]registry.Review
	// enforced is set when admission applies: when the default objects exist.
	enforced atomic.Bool
}

// guardWrites completes the guards of the registry.
func (p *builder) guardWrites() error {
	p.guards.admission = &authz.Escalation{Admission: p.admission, Authorizer: p.access.decide, Roles: p.access.roles}
	p.guards.access = &authz.Access{Authorizer: p.access.decide, Registry: p.reg}
	p.guards.reviews = authz.Reviews(p.access.decide)
	maps.Copy(p.guards.reviews, p.identities.reviews(&p.o))
	if p.lab != nil {
		p.guards.reviews[lab.RewindsReview] = registry.Review{Answer: p.lab.AnswerRewind}
	}
	return nil
}

// enforceAdmission makes admission apply to all later writes. It does not apply to
// the default objects: a stored webhook configuration whose webhook does not answer
// must not keep the server from starting, since only a running server can delete it.
func (p *builder) enforceAdmission(context.Context) error {
	p.guards.enforced.Store(true)
	for _, loop := range p.manifestLoops {
		p.runLoop("admission manifests", func() { loop(p.lifetime) })
	}
	return nil
}

// currentAdmission returns what decides about writes; nil before admission applies.
func (g *writeGuards) currentAdmission() registry.Admission {
	if !g.enforced.Load() {
		return nil
	}
	return g.admission
}

// Authorize implements api.Access.
func (g *writeGuards) Authorize(ctx context.Context, info *request.Info) error {
	return g.access.Authorize(ctx, info)
}

// Namespace implements api.Access.
func (g *writeGuards) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return g.access.Namespace(ctx, name)
}

// review returns the function that answers the reviews of a source.
func (g *writeGuards) review(source string) (registry.Review, bool) {
	review, ok := g.reviews[source]
	return review, ok
}
