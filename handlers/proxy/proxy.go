// Package proxy connects clients to kubelets, pods, services and aggregated servers: it forwards
// HTTP requests, copies logs, and connects the streams of exec, attach and port-forward.
//
// Package handlers authorizes a connection and package registry finds its location before this
// package connects. Reading order: proxy.go makes the transports and guard.go restricts their
// addresses; forward.go forwards requests and upgrades, and rewrite.go changes the links in
// their responses; text.go reads logs; tunnel.go and channels.go translate WebSockets of clients
// to SPDY for kubelets.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// Config configures a Proxy. The zero value works.
type Config struct {
	// Certificate returns the client certificate for kubelets; nil means none.
	Certificate func() (*tls.Certificate, error)
	// Roots returns the CAs that verify the certificates of kubelets, and a number that increases
	// when they change; nil accepts every certificate, like kube-apiserver without
	// --kubelet-certificate-authority.
	Roots func() (*x509.CertPool, int)
	// Timeout bounds a connection attempt to a kubelet; 0 means five seconds.
	Timeout time.Duration
	// MaxBytesPerSecond limits each connection, in each direction; 0 means no limit.
	MaxBytesPerSecond int
	// Dial makes connections; nil means net.Dialer.
	Dial outbound.DialFunc
	// Lookup resolves host names, before their addresses are checked and dialled;
	// nil means net.DefaultResolver.
	Lookup func(ctx context.Context, host string) ([]net.IPAddr, error)
	// Own reports whether the server itself listens at an address; nil means that
	// it listens at none. Such addresses are refused.
	Own func(netip.AddrPort) bool
	// LoopbackKubelets allows guarded locations to be kubelets at loopback addresses.
	LoopbackKubelets bool
	// Logger logs connections that break; nil logs nothing.
	Logger *slog.Logger
}

// Proxy makes connections for clients. It is safe for concurrent use.
type Proxy struct {
	// kubelets connects to the kubelets of pods, and guarded to those of nodes/proxy.
	kubelets, guarded kubeletTransports
	// others is for pods and services, without a client certificate.
	others      transports
	othersGuard guard
	logger      *slog.Logger
}

// kubeletTransports are the transports for kubelets, which present the client certificate.
type kubeletTransports struct {
	guard guard
	// verified verifies the certificates of kubelets; nil if there are no CAs. unverified accepts every
	// certificate.
	verified   *verifiedTransport
	unverified transports
}

// transports are those of one kind of location. As in kube-apiserver, plain asks for compressed
// responses on behalf of clients that say nothing about compression, and decompresses them.
// upgrades leaves requests that switch protocols as they are.
type transports struct{ plain, upgrades *http.Transport }

func (t transports) closeIdle() {
	t.plain.CloseIdleConnections()
	t.upgrades.CloseIdleConnections()
}

func (t transports) forRequest(upgrade bool) *http.Transport {
	if upgrade {
		return t.upgrades
	}
	return t.plain
}

// keepAlive is the interval of TCP keep-alive probes, the same as in kube-apiserver.
const keepAlive = 30 * time.Second

// New returns a Proxy.
func New(c Config) *Proxy {
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Lookup == nil {
		c.Lookup = net.DefaultResolver.LookupIPAddr
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{othersGuard: guard{lookup: c.Lookup, own: c.Own, addresses: globalAddresses}, logger: c.Logger}
	p.kubelets.guard, p.guarded.guard = p.othersGuard, p.othersGuard
	p.kubelets.guard.timeout, p.kubelets.guard.addresses = c.Timeout, allAddresses
	p.guarded.guard.timeout, p.guarded.guard.addresses = c.Timeout, globalOrFlagged
	if c.LoopbackKubelets {
		p.guarded.guard.addresses = globalOrLoopback
	}
	for _, g := range []*guard{&p.othersGuard, &p.kubelets.guard, &p.guarded.guard} {
		if g.dial = c.Dial; g.dial == nil {
			g.dial = outbound.Guard(g.check).Dialer(net.Dialer{Timeout: 30 * time.Second, KeepAlive: keepAlive})
		}
		if c.MaxBytesPerSecond > 0 {
			g.dial = throttled(g.dial, c.MaxBytesPerSecond)
		}
	}
	create := func(g *guard, t *tls.Config) transports {
		config := outbound.Config{TLS: t, Dial: g.connect}
		plain := outbound.Transport(config)
		config.Verbatim = true
		return transports{plain: plain, upgrades: outbound.Transport(config)}
	}
	for _, k := range []*kubeletTransports{&p.kubelets, &p.guarded} {
		toKubelets := func(roots *x509.CertPool) transports {
			t := &tls.Config{RootCAs: roots, InsecureSkipVerify: roots == nil}
			if c.Certificate != nil {
				t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.Certificate() }
			}
			return create(&k.guard, t)
		}
		if c.Roots != nil {
			k.verified = &verifiedTransport{roots: c.Roots, create: toKubelets}
		}
		k.unverified = toKubelets(nil)
	}
	// No certificate authority of the server signs the certificates of pods and services.
	p.others = create(&p.othersGuard, &tls.Config{InsecureSkipVerify: true})
	return p
}

// verifiedTransport is the transport for kubelets whose certificates are verified. It is
// created again when the CAs change.
type verifiedTransport struct {
	roots  func() (*x509.CertPool, int)
	create func(*x509.CertPool) transports

	mu         sync.Mutex
	current    transports // empty before the first use
	generation int
}

func (v *verifiedTransport) get() transports {
	roots, generation := v.roots() // may read a file, and needs no lock
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current.plain == nil || generation > v.generation {
		v.close()
		v.current, v.generation = v.create(roots), generation
	}
	return v.current
}

// close closes the idle connections; mu is held.
func (v *verifiedTransport) close() {
	if v.current.plain != nil {
		v.current.closeIdle()
	}
}

// Close closes the idle connections.
func (p *Proxy) Close() {
	p.others.closeIdle()
	for _, k := range []*kubeletTransports{&p.kubelets, &p.guarded} {
		k.unverified.closeIdle()
		if v := k.verified; v != nil {
			v.mu.Lock()
			v.close()
			v.mu.Unlock()
		}
	}
}

// kubeletsOf returns the transports for the location of a kubelet.
func (p *Proxy) kubeletsOf(loc *api.Location) *kubeletTransports {
	if loc.Guarded {
		return &p.guarded
	}
	return &p.kubelets
}

// transport returns the transport to a location for requests that switch protocols, or for others.
func (p *Proxy) transport(loc *api.Location, upgrade bool) *http.Transport {
	if !loc.Kubelet {
		return p.others.forRequest(upgrade)
	}
	k := p.kubeletsOf(loc)
	if loc.Unverified || k.verified == nil {
		return k.unverified.forRequest(upgrade)
	}
	return k.verified.get().forRequest(upgrade)
}
