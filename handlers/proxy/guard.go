package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// guard restricts the addresses to which the proxy connects. Users who may write the status of
// a node or a pod, or Endpoints, choose the address: it must not be the machine of the control
// plane, an address on its link, or the server itself.
//
// A transport dials through a guard, which resolves the host, checks all its addresses and
// connects to one of them, so that a name that resolves differently later (DNS rebinding) is
// checked again. The sockets of the default dialer check the address to which they connect.
type guard struct {
	lookup    func(ctx context.Context, host string) ([]net.IPAddr, error)
	dial      outbound.DialFunc
	own       func(netip.AddrPort) bool
	addresses allowedAddresses
	// timeout bounds a connection attempt; 0 leaves that to dial.
	timeout time.Duration
}

// allowedAddresses are the addresses to which a guard lets connections, besides those of the server itself.
type allowedAddresses int

const (
	// globalAddresses leaves out the machine of the server and its links.
	globalAddresses allowedAddresses = iota
	// globalOrFlagged is globalAddresses, where an error about a loopback address names the flag that would
	// allow it, and globalOrLoopback allows it.
	globalOrFlagged
	globalOrLoopback
	// allAddresses is for the kubelets of pods, which kube-apiserver does not check either.
	allAddresses
)

// errAddress, errLoopback and errNoAddress return refusals with kube-apiserver's messages.
func errAddress() error   { return apierrors.NewBadRequest("address not allowed") }
func errNoAddress() error { return apierrors.NewBadRequest("no addresses for hostname") }
func errLoopback() error {
	return apierrors.NewBadRequest("address not allowed: nodes/proxy connects to kubelets at loopback addresses with --allow-loopback-kubelets only")
}

// check returns an error unless the proxy may connect to an address in its normal form.
func (g *guard) check(a netip.AddrPort) error {
	ip := a.Addr()
	switch {
	case g.own != nil && g.own(a):
		return errAddress()
	case ip.IsGlobalUnicast(), g.addresses == allAddresses, g.addresses == globalOrLoopback && ip.IsLoopback():
		return nil
	case g.addresses == globalOrFlagged && ip.IsLoopback():
		return errLoopback()
	}
	return errAddress()
}

// resolve returns the addresses of host:port. If one of them is refused, all are.
func (g *guard) resolve(ctx context.Context, network, address string) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, network, service)
	if err != nil {
		return nil, err
	}
	var ips []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		ips = []netip.Addr{ip}
	} else {
		found, err := g.lookup(ctx, host)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			ip, _ := netip.AddrFromSlice(f.IP) // an invalid address is refused below
			ips = append(ips, ip.WithZone(f.Zone))
		}
	}
	if len(ips) == 0 {
		return nil, errNoAddress()
	}
	out := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		out[i] = netip.AddrPortFrom(ip.Unmap(), uint16(port))
		if err := g.check(outbound.Normal(out[i])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// connect is the DialContext of a transport.
func (g *guard) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if g.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.timeout)
		defer cancel()
	}
	addresses, err := g.resolve(ctx, network, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var first error
	for i, a := range addresses {
		conn, err := g.connectTo(ctx, network, a, len(addresses)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// connectTo dials one of left addresses, for its share of the remaining time.
func (g *guard) connectTo(ctx context.Context, network string, a netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return g.dial(ctx, network, a.String())
}

// Check returns an error if the proxy does not connect to the address of a location. The
// transports check again what they dial; Check is called before the client gets a response,
// such as the upgrade to a WebSocket.
func (p *Proxy) Check(ctx context.Context, loc *api.Location) error {
	address := loc.URL.Host
	if loc.URL.Port() == "" {
		port := "80"
		if loc.URL.Scheme == "https" {
			port = "443"
		}
		address = net.JoinHostPort(loc.URL.Hostname(), port)
	}
	g := &p.othersGuard
	if loc.Kubelet {
		g = &p.kubeletsOf(loc).guard
	}
	_, err := g.resolve(ctx, "tcp", address)
	var refused *apierrors.StatusError
	switch {
	case errors.As(err, &refused):
		return refused
	case err != nil && loc.Guarded:
		return apierrors.NewBadRequest(err.Error())
	}
	return nil // dialing reports what else is wrong
}
