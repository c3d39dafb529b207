package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
)

func TestMemory(t *testing.T) {
	m := ListenMemory()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr) // the client reads what was sent
	})}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(m) }()
	transport := &http.Transport{DialContext: m.Dial}
	defer transport.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/", nil)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "127.0.0.1:0" {
		t.Errorf("got %s, %v", body, err)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if _, err := m.Dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dialling a closed listener: %v", err)
	}
}

func TestMemoryDialEnds(t *testing.T) {
	m := ListenMemory()
	defer m.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Dial(ctx, "", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody accepts: %v", err)
	}
}
