package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/authn"
)

// What kube-apiserver allows a connection.
const (
	readHeaderTimeout    = 32 * time.Second
	idleTimeout          = 90 * time.Second
	maxHeaderBytes       = 1 << 20
	maxConcurrentStreams = 250
)

// serve begins to answer on the listeners, and to watch over what could end by
// itself.
func (s *Server) serve(secure, insecure net.Listener) {
	https := s.newHTTPServer(s.handler)
	https.TLSConfig = s.tls
	s.spawn("serving HTTPS", func() error { return https.ServeTLS(secure, "", "") })
	if insecure != nil {
		plain := s.newHTTPServer(localOnly(s.handler))
		plain.BaseContext = func(net.Listener) context.Context {
			return authn.WithTrusted(context.Background(), insecureUser())
		}
		s.spawn("serving HTTP", func() error { return plain.Serve(insecure) })
	}
	s.spawn("store", func() error {
		select {
		case err := <-s.store.Err():
			return err
		case <-s.lifetime.Done():
			return nil
		}
	})
}

func (s *Server) newHTTPServer(h http.Handler) *http.Server {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         s.idle.observe,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxConcurrentStreams},
		// Mostly clients that hang up in the middle of a handshake.
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	s.servers = append(s.servers, server)
	return server
}

// spawn runs a part of the server in a goroutine that stop waits for. When the
// part fails, the server stops.
func (s *Server) spawn(name string, run func() error) {
	s.wg.Go(func() {
		err := run()
		if err == nil || errors.Is(err, http.ErrServerClosed) {
			return
		}
		s.logger.Error("stopping: a part of the server failed", "part", name, "err", err)
		s.failed.Do(func() {
			s.err = err
			go s.stopAfterFailure() // by itself, for stop waits for this goroutine
		})
	})
}

// stopAfterFailure is Stop with the time that a request may take. Who waits for
// Done learns of it.
func (s *Server) stopAfterFailure() {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.RequestTimeout)
	defer cancel()
	_ = s.Stop(ctx) // the failure is what there is to tell
}
