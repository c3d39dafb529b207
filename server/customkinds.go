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
func (p *parts) serveCustomKinds(ctx context.Context) (follow func(), err error) {
	clients := hooks.New(hooks.Config{
		Resolver: &services.Resolver{Registry: p.loops.Registry, Endpoints: p.o.AggregatorRouting}, Dial: p.o.Dial, Certificates: p.hooked,
	})
	kinds, err := controllers.NewCustomKinds(p.loops, p.handler.Forget, clients, p.metrics)
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
		kinds.Run(p.lifetime)
	}, nil
}
