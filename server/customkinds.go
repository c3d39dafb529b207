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
