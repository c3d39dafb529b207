package proxy

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/miniapiserver/miniapiserver/api"
)

// The protocol that kubelets speak for streams, and the header with its subprotocol.
const (
	spdy           = "SPDY/3.1"
	protocolHeader = "X-Stream-Protocol-Version"
)

// upgrader returns an upgrader to a WebSocket with the subprotocol that was negotiated.
func upgrader(protocol string) *websocket.Upgrader {
	return &websocket.Upgrader{
		Subprotocols: []string{protocol},
		// The handler chain has refused foreign origins.
		CheckOrigin: func(*http.Request) bool { return true },
	}
}

// refusal is a response that refuses an upgrade. The client gets it.
type refusal struct{ *http.Response }

func (r refusal) Error() string { return "unable to upgrade connection: " + r.Status }

// dialSPDY upgrades a connection to a kubelet to SPDY with one of the subprotocols. It returns
// the connection, which the caller closes, and the chosen subprotocol. header is added to the request.
func (p *Proxy) dialSPDY(ctx context.Context, r *http.Request, loc *api.Location, header http.Header,
	protocols ...string) (*stream, string, error) {
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, loc.URL.String(), nil)
	if err != nil {
		return nil, "", err
	}
	out.Host = r.Host
	out.Header.Set("User-Agent", r.UserAgent())
	out.Header.Set("Connection", "Upgrade")
	out.Header.Set("Upgrade", spdy)
	maps.Copy(out.Header, header)
	out.Header[protocolHeader] = protocols
	mark(out.Header, loc)
	response, err := p.transport(loc, true).RoundTrip(out)
	if err != nil {
		return nil, "", fmt.Errorf("error dialing backend: %w", err)
	}
	body, ok := response.Body.(io.ReadWriteCloser)
	switch {
	case response.StatusCode != http.StatusSwitchingProtocols:
		return nil, "", refusal{response}
	case !ok || !strings.EqualFold(response.Header.Get("Upgrade"), spdy):
		response.Body.Close()
		response.Body = http.NoBody
		return nil, "", refusal{response}
	}
	return &stream{ReadWriteCloser: body}, strings.TrimSpace(response.Header.Get(protocolHeader)), nil
}

// stream is an upgraded connection as a net.Conn. It has no deadlines.
type stream struct {
	io.ReadWriteCloser
	once sync.Once
}

// Close implements net.Conn. It may be called several times.
func (s *stream) Close() error {
	s.once.Do(func() { _ = s.ReadWriteCloser.Close() }) // the caller has nothing left to send
	return nil
}

func (*stream) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*stream) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*stream) SetDeadline(time.Time) error      { return nil }
func (*stream) SetReadDeadline(time.Time) error  { return nil }
func (*stream) SetWriteDeadline(time.Time) error { return nil }

// forwardedFor returns the header with the addresses of a request's client.
func forwardedFor(r *http.Request) http.Header {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return nil
	}
	return http.Header{"X-Forwarded-For": {strings.Join(append(r.Header["X-Forwarded-For"], client), ", ")}}
}

// relay copies the response that refuses an upgrade. As with kube-apiserver, it has the headers of the backend
// alone.
func relay(w http.ResponseWriter, response *http.Response) {
	defer response.Body.Close()
	clear(w.Header())
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, io.LimitReader(response.Body, maxMessage)) // the client may have disconnected
}
