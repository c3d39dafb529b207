package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Stop ends the server: after --shutdown-delay-duration, in which /readyz fails, watches end as if their time was over, other requests
// are finished, then the store is closed, and what is ephemeral removed. When
// the context is done first, connections are cut. Stop returns when nothing is
// left of the server; a further call waits for the first.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Do(func() {
		s.handler.EndReadiness()
		pause(ctx, s.o.ShutdownDelay)
		s.stop(ctx)
	})
	<-s.done
	return s.stopErr
}

// Abandon removes what is ephemeral and nothing else, at once. It is for a
// process that is about to end without waiting for Stop.
func (s *Server) Abandon() {
	if s.ephemeral {
		_ = os.RemoveAll(s.o.Dir) // there is nobody left to tell
	}
}

// stop undoes start in reverse, as far as that got.
func (s *Server) stop(ctx context.Context) {
	defer close(s.done)
	var errs []error
	if s.handler != nil {
		s.handler.BeginShutdown()
	}
	errs = append(errs, s.stopServing(ctx), s.closeListeners())
	if s.proxy != nil {
		s.proxy.Close()
	}
	if s.controllers != nil {
		s.controllers.Stop()
	}
	s.end()
	s.wg.Wait()
	if s.remotes != nil {
		s.remotes.Close()
	}
	if s.webhooks != nil {
		s.webhooks.Close()
	}
	if s.converters != nil {
		s.converters.Close()
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing the store: %w", err))
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if s.ephemeral {
		errs = append(errs, os.RemoveAll(s.o.Dir))
	}
	s.stopErr = errors.Join(errs...)
}

// closeListeners closes the listeners that a failed start left unserved.
func (s *Server) closeListeners() error {
	var errs []error
	for _, l := range []net.Listener{s.secure, s.insecure} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// stopServing closes the listeners and waits for the requests that are being
// answered.
func (s *Server) stopServing(ctx context.Context) error {
	errs := make([]error, len(s.servers))
	served, end := context.WithCancel(context.Background())
	var closer, wg sync.WaitGroup
	closer.Go(func() { s.idle.closeUntil(served) })
	for i, server := range s.servers {
		wg.Go(func() {
			if err := server.Shutdown(ctx); err != nil {
				errs[i] = fmt.Errorf("requests were cut off: %w", errors.Join(err, server.Close()))
			}
		})
	}
	wg.Wait()
	end()
	closer.Wait()
	return errors.Join(errs...)
}

// pause returns after a time, or when the context is done.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
