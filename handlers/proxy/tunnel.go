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

// tunnelPrefix begins the subprotocols of WebSockets that carry SPDY as it is.
const tunnelPrefix = spdy + "+"

// WantsTunnel tells of WebSockets whose messages are to be the bytes of SPDY.
func WantsTunnel(r *http.Request) bool { return len(tunnelled(r)) > 0 }

// tunnelled are the protocols over SPDY that a client offers.
func tunnelled(r *http.Request) []string {
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

// Tunnel connects a WebSocket to a kubelet's SPDY, until one of them ends.
func (p *Proxy) Tunnel(w http.ResponseWriter, r *http.Request, at *api.Location, fail func(error)) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	backend, protocol, err := p.dialSPDY(ctx, r, at, tunnelled(r)...)
	var refused refusal
	switch {
	case errors.As(err, &refused):
		relay(w, refused.Response)
		return
	case err != nil:
		fail(err)
		return
	}
	defer backend.Close()
	conn, err := upgrader(tunnelPrefix+protocol).Upgrade(Innermost(w), r, nil)
	if err != nil {
		p.logger.Debug("tunnel was not begun", "error", err)
		return // the client was told
	}
	var both sync.WaitGroup
	end := func() { conn.Close(); backend.Close() }
	defer both.Wait()
	defer context.AfterFunc(ctx, end)()
	defer end()
	ended := make(chan error, 2)
	carry := func(f func() error) {
		both.Go(func() {
			var err error
			caught := recovery.Call(p.logger, "a tunnel", func() { err = f() })
			ended <- errors.Join(err, caught)
		})
	}
	carry(func() error { return fromMessages(backend, conn) })
	carry(func() error {
		return Copy(func(b []byte) error { return conn.WriteMessage(websocket.BinaryMessage, b) }, backend)
	})
	p.logger.Debug("tunnel ended", "error", <-ended)
}

// fromMessages writes what the messages of a WebSocket hold.
func fromMessages(to io.Writer, conn *websocket.Conn) error {
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

// Innermost is the writer that the HTTP server made, which can be hijacked.
func Innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}
