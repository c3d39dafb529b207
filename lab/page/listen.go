package page

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Server is a page on a listener of its own. Close ends it.
type Server struct {
	url    string
	server *http.Server
	cancel context.CancelFunc
	done   chan struct{}
}

// Listen serves a page on a port of 127.0.0.1; 0 is a free one. Close must be called.
func Listen(c Config, port int) (*Server, error) {
	handler, err := New(c)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return nil, fmt.Errorf("the lab page cannot listen: %w", err)
	}
	logger := c.Log
	if logger == nil {
		logger = slog.Default()
	}
	// Requests end when the server closes: a watch has no end of its own.
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		url:    fmt.Sprintf("http://%s/#token=%s", listener.Addr(), c.Token),
		cancel: cancel,
		done:   make(chan struct{}),
		server: &http.Server{
			Handler:           handler,
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ReadHeaderTimeout: 5 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    maxHeader,
			ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), // what clients do wrong
		},
	}
	go func() {
		_ = recovery.Call(logger, "lab page", func() { // logged by recovery
			if err := s.server.Serve(listener); err != http.ErrServerClosed {
				logger.Error("the lab page has ended", "err", err)
			}
		})
		close(s.done)
	}()
	return s, nil
}

// URL returns the address of the page with its token.
func (s *Server) URL() string { return s.url }

// Close ends the listener and the requests of the page, and waits until they have ended.
func (s *Server) Close() error {
	s.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = s.server.Close()
	}
	<-s.done
	return err
}
