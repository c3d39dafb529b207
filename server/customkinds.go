package server

import (
	"context"
	"fmt"

	"github.com/miniapiserver/miniapiserver/controllers"
)

// serveCustomKinds puts the kinds that arrived at run time into the catalogue,
// and from then on follows what becomes of them.
func (s *Server) serveCustomKinds(ctx context.Context) error {
	kinds := controllers.NewCustomKinds(s.loops, s.handler.Forget)
	if kinds == nil {
		return nil // they are turned off
	}
	if err := kinds.Load(ctx); err != nil {
		return fmt.Errorf("custom kinds: %w", err)
	}
	s.wg.Go(func() { kinds.Run(s.lifetime) })
	return nil
}

// keepLocalServices keeps the APIServices of what the server serves itself.
func (s *Server) keepLocalServices(ctx context.Context) error {
	local := controllers.NewLocalServices(s.loops)
	if local == nil {
		return nil // they are turned off
	}
	if err := local.Load(ctx); err != nil {
		return fmt.Errorf("local APIServices: %w", err)
	}
	s.wg.Go(func() { local.Run(s.lifetime) })
	return nil
}
