package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// tunnelPrefix begins the subprotocols of WebSockets that carry the bytes of SPDY.
const tunnelPrefix = spdy + "+"

// WantsTunnel reports whether a request asks for a WebSocket that carries the bytes of SPDY.
func WantsTunnel(r *http.Request) bool { return len(tunnelProtocols(r)) > 0 }

// tunnelProtocols returns the protocols over SPDY that a client offers in a tunnel.
func tunnelProtocols(r *http.Request) []string {
	if !websocket.IsWebSocketUpgrade(r) {
		return nil
	}
	var out []string
	for _, offered := range websocket.Subprotocols(r) {
		if p, ok := strings.CutPrefix(offered, tunnelPrefix); ok && strings.HasSuffix(p, ".k8s.io") {
			out = append(out, p)
		}
	}
	return out
}

// Tunnel copies bytes between a WebSocket and the SPDY connection of a kubelet until one of
// them ends. It calls report with the code of its response.
func (p *Proxy) Tunnel(w http.ResponseWriter, r *http.Request, loc *api.Location, report func(code int), fail func(error)) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	backend, protocol, err := p.dialSPDY(ctx, r, loc, forwardedFor(r), tunnelProtocols(r)...)
	var refused refusal
	switch {
	case errors.As(err, &refused) && refused.StatusCode == http.StatusSwitchingProtocols:
		report(http.StatusInternalServerError)
		http.Error(w, "unable to upgrade: missing upgrade headers in response", http.StatusInternalServerError)
		return
	case errors.As(err, &refused) && checkUpgrade(refused.Response) != nil:
		report(http.StatusInternalServerError)
		refused.Body.Close()
		fail(checkUpgrade(refused.Response))
		return
	case errors.As(err, &refused):
		report(refused.StatusCode)
		relay(w, refused.Response)
		return
	case err != nil:
		report(http.StatusInternalServerError)
		fail(err)
		return
	}
	defer backend.Close()
	conn, err := upgrader(tunnelPrefix+protocol).Upgrade(Innermost(w), r, nil)
	if err != nil {
		report(http.StatusInternalServerError)
		p.logger.Debug("cannot upgrade to WebSocket", "error", err)
		return // Upgrade has written an error
	}
	report(http.StatusSwitchingProtocols)
	var copies sync.WaitGroup
	end := func() { conn.Close(); backend.Close() }
	defer copies.Wait()
	defer context.AfterFunc(ctx, end)()
	defer end()
	ended := make(chan error, 2)
	start := func(f func() error) {
		copies.Go(func() {
			var err error
			caught := recovery.Call(p.logger, "a tunnel", func() { err = f() })
			ended <- errors.Join(err, caught)
		})
	}
	start(func() error { return copyMessages(backend, conn) })
	start(func() error {
		return Copy(func(b []byte) error { return conn.WriteMessage(websocket.BinaryMessage, b) }, backend)
	})
	p.logger.Debug("tunnel ended", "error", <-ended)
}

// copyMessages writes the content of the messages of a WebSocket.
func copyMessages(to io.Writer, conn *websocket.Conn) error {
	for {
		kind, message, err := conn.NextReader()
		if err != nil {
			return err
		}
		if kind != websocket.BinaryMessage {
			return errors.New("a message of the tunnel is not binary")
		}
		if _, err := io.Copy(to, message); err != nil {
			return err
		}
	}
}

// Innermost returns the response writer of the HTTP server, which can be hijacked.
func Innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}
