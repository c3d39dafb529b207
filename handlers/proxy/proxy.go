// Package proxy leads clients of the server on to kubelets, pods and what
// services stand for: requests of HTTP as they are, the text of a log, and
// streams, whose connections are upgraded on both sides and then passed through.
//
// It is a part of handlers, which finds out where a connection leads and whether
// it may be made. Reading order: proxy.go has whom it speaks to, and guard.go to
// which addresses it connects; forward.go requests and upgrades, with rewrite.go
// for what names their paths; text.go logs; tunnel.go and channels.go what
// clients send over WebSockets and kubelets take as SPDY.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// Config is how the other side is spoken to. The zero value works.
type Config struct {
	// Certificate is what is shown to kubelets; nil means nothing.
	Certificate func() (*tls.Certificate, error)
	// Roots are what kubelets are known by; nil believes every certificate, as
	// kube-apiserver does that was told of none.
	Roots *x509.CertPool
	// Timeout bounds how long a connection to a kubelet takes to be made; 0 means
	// five seconds.
	Timeout time.Duration
	// Dial makes connections; nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Lookup resolves host names, before their addresses are checked and dialled;
	// nil means net.DefaultResolver.
	Lookup func(ctx context.Context, host string) ([]net.IPAddr, error)
	// Own reports whether the server itself listens at an address; nil means that
	// it listens at none. Such addresses are refused.
	Own func(netip.AddrPort) bool
	// LoopbackKubelets allows kubelets, and nothing else, at loopback addresses.
	LoopbackKubelets bool
	// Logger is told of connections that break; nil means nobody.
	Logger *slog.Logger
}

// Proxy makes connections for clients. It is safe for concurrent use.
type Proxy struct {
	// kubelets are spoken to as who the server is, unverified whatever they are,
	// others as nobody in particular.
	kubelets, unverified, others *http.Transport
	kubeletGuard, othersGuard    guard
	logger                       *slog.Logger
}

// What Go and kube-apiserver allow idle connections and handshakes.
const (
	keepAlive = 30 * time.Second
)

// New makes a Proxy.
func New(c Config) *Proxy {
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: keepAlive}).DialContext
	}
	if c.Lookup == nil {
		c.Lookup = net.DefaultResolver.LookupIPAddr
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{othersGuard: guard{lookup: c.Lookup, dial: c.Dial, own: c.Own}, logger: c.Logger}
	p.kubeletGuard = p.othersGuard
	p.kubeletGuard.timeout, p.kubeletGuard.loopback = c.Timeout, c.LoopbackKubelets
	transport := func(g *guard, t *tls.Config) *http.Transport {
		return outbound.Transport(outbound.Config{TLS: t, Dial: g.connect, Verbatim: true})
	}
	kubelet := func(unverified bool) *http.Transport {
		t := &tls.Config{RootCAs: c.Roots, InsecureSkipVerify: unverified}
		if c.Certificate != nil {
			t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.Certificate() }
		}
		return transport(&p.kubeletGuard, t)
	}
	p.kubelets, p.unverified = kubelet(c.Roots == nil), kubelet(true)
	// Pods and services have certificates of nobody that the server knows.
	p.others = transport(&p.othersGuard, &tls.Config{InsecureSkipVerify: true})
	return p
}

// Close ends the connections that wait for another request.
func (p *Proxy) Close() {
	for _, t := range []*http.Transport{p.kubelets, p.unverified, p.others} {
		t.CloseIdleConnections()
	}
}

// transport is how a location is spoken to.
func (p *Proxy) transport(at *api.Location) *http.Transport {
	switch {
	case at.Kubelet && at.Unverified:
		return p.unverified
	case at.Kubelet:
		return p.kubelets
	}
	return p.others
}
