package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/miniapiserver/miniapiserver/api"
)

// Headers of an upgrade to SPDY, and what kubelets speak over it.
const (
	spdy           = "SPDY/3.1"
	protocolHeader = "X-Stream-Protocol-Version"
)

// upgrader makes WebSockets of requests. Which protocol they speak was looked at
// before.
func upgrader(protocol string) *websocket.Upgrader {
	return &websocket.Upgrader{
		Subprotocols: []string{protocol},
		// The handler chain has refused foreign origins.
		CheckOrigin: func(*http.Request) bool { return true },
	}
}

// refusal is an answer in place of an upgrade, for the client to see.
type refusal struct{ *http.Response }

func (r refusal) Error() string { return "unable to upgrade connection: " + r.Status }

// dialSPDY has a kubelet speak SPDY, over a connection that the caller closes,
// by one of the protocols. It returns the one that was chosen.
func (p *Proxy) dialSPDY(ctx context.Context, r *http.Request, at *api.Location, protocols ...string) (*stream, string, error) {
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, at.URL.String(), nil)
	if err != nil {
		return nil, "", err
	}
	out.Host = r.Host
	out.Header.Set("User-Agent", r.UserAgent())
	out.Header.Set("Connection", "Upgrade")
	out.Header.Set("Upgrade", spdy)
	if client, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		out.Header.Set("X-Forwarded-For", strings.Join(append(r.Header["X-Forwarded-For"], client), ", "))
	}
	out.Header[protocolHeader] = protocols
	answer, err := p.transport(at).RoundTrip(out)
	if err != nil {
		return nil, "", fmt.Errorf("error dialing backend: %w", err)
	}
	body, ok := answer.Body.(io.ReadWriteCloser)
	switch {
	case answer.StatusCode != http.StatusSwitchingProtocols:
		return nil, "", refusal{answer}
	case !ok || !strings.EqualFold(answer.Header.Get("Upgrade"), spdy):
		answer.Body.Close()
		return nil, "", fmt.Errorf("unable to upgrade: missing upgrade headers in response")
	}
	return &stream{ReadWriteCloser: body}, strings.TrimSpace(answer.Header.Get(protocolHeader)), nil
}

// stream is an upgraded connection as a net.Conn. It has no deadlines: it ends
// when it is closed.
type stream struct {
	io.ReadWriteCloser
	once sync.Once
}

// Close implements net.Conn. It may be called by everybody who is done with it.
func (s *stream) Close() error {
	s.once.Do(func() { _ = s.ReadWriteCloser.Close() }) // what was not sent is lost either way
	return nil
}

func (*stream) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*stream) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*stream) SetDeadline(time.Time) error      { return nil }
func (*stream) SetReadDeadline(time.Time) error  { return nil }
func (*stream) SetWriteDeadline(time.Time) error { return nil }

// relay passes on an answer as it is.
func relay(w http.ResponseWriter, answer *http.Response) {
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, io.LimitReader(answer.Body, maxMessage)) // to who may be gone
}
