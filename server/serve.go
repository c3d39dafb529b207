package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// What kube-apiserver allows a connection.
const (
	readHeaderTimeout    = 32 * time.Second
	idleTimeout          = 90 * time.Second
	maxHeaderBytes       = 1 << 20
	maxConcurrentStreams = 250
)

// grace is how much longer than a request its connection may take to carry the
// answer, and the rest of a body that no handler reads.
const connectionGrace = 10 * time.Second

// serve starts to serve the listeners. Parts that can fail by themselves end the
// server from now on.
func (s *Server) serve() error {
	https := s.newHTTPServer(transportSecurity(s.o.HSTSDirectives, goaway(s.o.GoawayChance, s.handler)))
	https.TLSConfig = s.tls
	s.runPart("serving HTTPS", func() error { return https.ServeTLS(s.secure, "", "") })
	if s.insecure != nil {
		plain := s.newHTTPServer(localOnly(s.handler))
		plain.BaseContext = func(net.Listener) context.Context {
			return authn.WithTrusted(context.Background(), insecureUser())
		}
		s.runPart("serving HTTP", func() error { return plain.Serve(s.insecure) })
	}
	s.runPart("store", func() error {
		select {
		case err := <-s.store.Err():
			return err
		case <-s.lifetime.Done():
			return nil
		}
	})
	return nil
}

func (s *Server) newHTTPServer(h http.Handler) *http.Server {
	streams := cmp.Or(s.o.HTTP2MaxStreams, maxConcurrentStreams)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!s.o.NoHTTP2)
	more := min(connectionGrace, s.o.RequestTimeout)
	within := s.o.RequestTimeout + more
	server := &http.Server{
		Handler:           boundBodies(within, more, h),
		ReadHeaderTimeout: readHeaderTimeout, // and the handshake
		WriteTimeout:      within + more,     // lifted where a request has no end
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         s.idle.observe,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: streams, WriteByteTimeout: within},
		// Mostly clients that hang up in the middle of a handshake.
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	s.servers = append(s.servers, server)
	return server
}

// boundBodies limits how long the body of a request may take, and how long its rest
// when the handler is done. HTTP/1 reads a body to its end before it answers, or
// before it looks for the next request, whether the handler wants it or not. Handlers
// of requests that have no end lift the limit. HTTP/2 reads no body that the handler
// leaves.
func boundBodies(within, rest time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && r.Body != nil && r.Body != http.NoBody {
			connection := http.NewResponseController(w)
			_ = connection.SetReadDeadline(time.Now().Add(within)) // every connection has deadlines
			defer func() { _ = connection.SetReadDeadline(time.Now().Add(rest)) }()
		}
		next.ServeHTTP(w, r)
	})
}

// runPart runs a part of the server in a goroutine that stop waits for. If the part
// fails, the server stops.
func (s *Server) runPart(name string, run func() error) {
	var failure error
	s.wg.Go(func() {
		err := recovery.Call(s.logger, name, func() { failure = run() })
		if err == nil {
			err = failure
		}
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

// runLoop runs a loop of the server in a goroutine that stop waits for. A loop that
// panics is restarted.
func (s *Server) runLoop(name string, run func()) {
	s.wg.Go(func() { recovery.RestartOnPanic(s.lifetime, s.logger, name, run) })
}

// stopAfterFailure is Stop with the time that a request may take. Who waits for
// Done learns of it.
func (s *Server) stopAfterFailure() {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.RequestTimeout)
	defer cancel()
	_ = s.Stop(ctx) // the failure is what there is to tell
}
