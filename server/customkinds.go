package server

import (
	"context"
	"fmt"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/registry/hooks"
	"github.com/miniapiserver/miniapiserver/registry/services"
)

// serveCustomKinds puts the kinds that arrived at run time into the catalogue, and
// returns what from then on follows what becomes of them.
func (s *Server) serveCustomKinds(ctx context.Context) (follow func(), err error) {
	clients := hooks.New(hooks.Users{}, &services.Resolver{Registry: s.loops.Registry, Endpoints: s.o.AggregatorRouting})
	kinds, err := controllers.NewCustomKinds(s.loops, s.handler.Forget, clients)
	if err == nil && kinds != nil {
		err = kinds.Load(ctx)
	}
	if err != nil || kinds == nil { // they may be turned off
		clients.Close()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("custom kinds: %w", err)
	case kinds == nil:
		return func() {}, nil
	}
	return func() {
		defer clients.Close()
		kinds.Run(s.lifetime)
	}, nil
}
