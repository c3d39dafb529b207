package transport

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestShutdownWithoutRequest checks that a connection on which no request has come does not delay a
// shutdown. A client in the process that dials ahead leaves such connections.
func TestShutdownWithoutRequest(t *testing.T) {
	var conns IdleConns
	accepted := make(chan struct{})
	listener := ListenMemory()
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.NotFoundHandler(), ConnState: func(c net.Conn, state http.ConnState) {
		conns.Observe(c, state)
		if state == http.StateNew {
			close(accepted)
		}
	}}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	conn, err := listener.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	<-accepted
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	ended, end := context.WithCancel(t.Context())
	running.Go(func() { conns.CloseUntil(ended) })
	if err := server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	end()
	running.Wait()
}
