package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/server/transport"
)

// Stop stops the server. First /readyz fails for --shutdown-delay-duration. With
// --shutdown-send-retry-after, new requests are then refused with 429 until those in flight are
// completed. Then the listeners close, watches end as at their timeout, spread over
// --shutdown-watch-termination-grace-period, other requests are completed, the store is closed,
// and an ephemeral directory is removed. If ctx is done first, connections are closed. Stop
// returns when all goroutines have ended; a further call waits for the first.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Do(func() {
		s.handler.EndReadiness()
		s.withdraw(ctx)
		pause(ctx, s.o.Lifecycle.ShutdownDelay)
		s.handler.RefuseRequests(ctx)
		s.stop(ctx)
	})
	<-s.done
	return s.stopErr
}

// withdrawTimeout is the maximum time for removing the server from the endpoints.
const withdrawTimeout = 2 * time.Second

// withdraw removes the server from the endpoints of the service kubernetes, so that clients in the
// cluster turn to other servers.
func (s *Server) withdraw(ctx context.Context) {
	if s.endpoints == nil {
		return
	}
	ctx, cancel := context.WithTimeout(request.AsServer(ctx), withdrawTimeout)
	defer cancel()
	if err := s.endpoints.Withdraw(ctx); err != nil {
		s.logger.Warn("removing the server from the endpoints of the service kubernetes failed", "error", err)
	}
}

// Abandon only removes an ephemeral directory. It is for a process that is about to exit
// without Stop.
func (s *Server) Abandon() {
	if dir := s.ephemeralDir.Load(); dir != nil {
		_ = os.RemoveAll(*dir) // the process exits, so an error could not be reported
	}
}

// atEnd adds a function that closes a part, after all requests and loops have ended and the parts that
// were opened later are closed.
func (p *builder) atEnd(end func(context.Context) error) { p.closers = append(p.closers, end) }

// stop ends the requests and loops, and then closes the parts that start has opened so far, in reverse order.
func (s *Server) stop(ctx context.Context) {
	defer close(s.done)
	var errs []error
	if s.handler != nil {
		s.handler.BeginShutdown(s.o.Lifecycle.ShutdownWatchGrace)
	}
	errs = append(errs, shutdown(ctx, &s.idle, s.servers...), s.closeListeners())
	if s.proxy != nil {
		s.proxy.Close()
	}
	if s.controllers != nil {
		s.controllers.Stop()
	}
	s.end()
	s.wg.Wait()
	for _, end := range slices.Backward(s.closers) {
		errs = append(errs, end(ctx))
	}
	s.stopErr = errors.Join(errs...)
}

// closeListeners closes listeners that a failed start left open.
func (s *Server) closeListeners() error {
	var errs []error
	listeners := []net.Listener{s.secure, s.second, s.insecure}
	if s.memory != nil {
		listeners = append(listeners, s.memory)
	}
	for _, l := range listeners {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// shutdown closes the listeners of servers and waits for requests in flight. idle has their idle connections.
func shutdown(ctx context.Context, idle *transport.IdleConns, servers ...*http.Server) error {
	errs := make([]error, len(servers))
	served, end := context.WithCancel(context.Background())
	var closer, wg sync.WaitGroup
	closer.Go(func() { idle.CloseUntil(served) })
	for i, server := range servers {
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
