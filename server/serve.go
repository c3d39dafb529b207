package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/server/transport"
)

// Limits of a connection, equal to kube-apiserver's.
const (
	readHeaderTimeout    = 32 * time.Second
	idleTimeout          = 90 * time.Second
	maxHeaderBytes       = 1 << 20
	maxConcurrentStreams = 100
	// maxFrame is the largest frame of HTTP/2, and the number of bytes that a client may send on a
	// stream before they are read.
	maxFrame = 256 << 10
)

// connectionGrace is added to the request timeout for writing the response, and for reading
// the rest of a body.
const connectionGrace = 10 * time.Second

// serve starts the HTTP servers of the listeners. From now on a failure of a part stops the
// server.
func (p *builder) serve() error {
	s, handshakes := p.Server, transport.NewHandshakeErrors()
	if err := p.metrics.Register(handshakes); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	secured := transport.StrictTransportSecurity(s.o.Serving.HSTSDirectives, transport.Goaway(s.o.Serving.GoawayChance, s.handler))
	https := s.newServer(handshakes, secured)
	https.TLSConfig = s.tls
	s.runPart("serving HTTPS", func() error { return https.ServeTLS(s.secure, "", "") })
	if s.second != nil {
		second := s.newServer(handshakes, secured)
		second.TLSConfig = s.tls
		second.BaseContext = func(net.Listener) context.Context {
			return request.WithServer(context.Background(), request.SecondServer)
		}
		s.runPart("serving HTTPS at the second address", func() error { return second.ServeTLS(s.second, "", "") })
	}
	local := s.newServer(handshakes, s.handler)
	s.runPart("serving the process", func() error { return local.Serve(s.memory) })
	if s.insecure != nil {
		plain := s.newServer(handshakes, transport.LocalOnly(s.handler))
		plain.BaseContext = func(net.Listener) context.Context {
			return authn.WithTrusted(context.Background(), transport.InsecureUser())
		}
		s.runPart("serving HTTP", func() error { return plain.Serve(s.insecure) })
	}
	for _, store := range p.allStores() {
		s.runPart("store", func() error {
			select {
			case err := <-store.Err():
				return err
			case <-s.lifetime.Done():
				return nil
			}
		})
	}
	return nil
}

func (s *Server) newServer(handshakes prometheus.Counter, h http.Handler) *http.Server {
	server := newHTTPServer(&s.o, transport.CountHandshakeErrors(s.logger.Handler(), handshakes), h)
	server.ConnState = s.idle.Observe
	if s.o.Lab.Enabled {
		server.ConnContext = request.WithConnection // for faults that close connections
	}
	s.servers = append(s.servers, server)
	return server
}

// newHTTPServer returns a server with the limits that o has. errorLog gets the errors of connections, mostly of clients that
// disconnect during the handshake.
func newHTTPServer(o *Options, errorLog slog.Handler, h http.Handler) *http.Server {
	streams := cmp.Or(o.Serving.HTTP2MaxStreams, maxConcurrentStreams)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!o.Serving.NoHTTP2)
	more := min(connectionGrace, o.Limits.RequestTimeout)
	within := o.Limits.RequestTimeout + more
	return &http.Server{
		Handler:           boundBodies(within, more, h),
		ReadHeaderTimeout: readHeaderTimeout, // also limits the TLS handshake
		WriteTimeout:      within + more,     // removed by handlers of long-running requests
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         protocols,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streams, WriteByteTimeout: within,
			MaxReadFrameSize: maxFrame, MaxReceiveBufferPerStream: maxFrame, MaxReceiveBufferPerConnection: maxFrame * streams},
		ErrorLog: slog.NewLogLogger(errorLog, slog.LevelDebug),
	}
}

// boundBodies limits the time for reading the body of an HTTP/1 request, and the rest of it
// after the handler returns: net/http reads the whole body, even if the handler does not,
// before it reads the next request. Handlers of long-running requests remove the limit.
func boundBodies(within, rest time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && r.Body != nil && r.Body != http.NoBody {
			connection := http.NewResponseController(w)
			_ = connection.SetReadDeadline(time.Now().Add(within)) // cannot fail for a TCP connection
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
		s.logger.Error("stopping: a part of the server failed", "part", name, "error", err)
		s.failed.Do(func() {
			s.err = err
			go s.stopAfterFailure() // not counted by s.wg, because stop waits for that
		})
	})
}

// runLoop runs a loop of the server in a goroutine that stop waits for. A loop that
// panics is restarted.
func (s *Server) runLoop(name string, run func()) {
	s.wg.Go(func() { recovery.RestartOnPanic(s.lifetime, s.logger, name, run) })
}

// runEvery calls f after each interval, in a goroutine that stop waits for. Failures are logged.
func (s *Server) runEvery(name string, interval time.Duration, f func(context.Context) error) {
	s.runLoop(name, func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-s.lifetime.Done():
				return
			case <-tick.C:
			}
			// A stop may wait for the task, which must end even if etcd does not answer.
			ctx, cancel := context.WithTimeout(request.AsServer(s.lifetime), interval)
			if err := f(ctx); err != nil && s.lifetime.Err() == nil {
				s.logger.Warn("a periodic task failed", "task", name, "error", err)
			}
			cancel()
		}
	})
}

// stopAfterFailure stops the server, and gives requests in flight the request timeout. Done
// reports the end.
func (s *Server) stopAfterFailure() {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.Limits.RequestTimeout)
	defer cancel()
	_ = s.Stop(ctx) // Err returns the failure
}
