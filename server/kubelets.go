package server

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/server/bootstrap"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// kubeletCertificate returns the certificate that the server presents to kubelets.
func kubeletCertificate(o *Options, own *credentials.Certificates) (credentials.ReloadedPair, error) {
	generated := generatedFiles{own.Kubelets, o.ownCertDir(), credentials.KubeletClientFile}
	return presentedPair("client certificate for kubelets",
		[2]string{"kubelet-client-certificate",
			"kubelet-client-key"}, o.Kubelets.CertFile, o.Kubelets.KeyFile, generated, o.Logger)
}

// newConnections returns the proxy that connects clients to kubelets, pods and
// services.
func newConnections(o *Options, certificate credentials.ReloadedPair, listening ownAddresses) (*proxy.Proxy, error) {
	c := proxy.Config{
		Certificate: certificate.Present,
		Timeout:     o.Kubelets.Timeout, Dial: o.Dial, Lookup: o.Lookup, Logger: o.Logger,
		Own: listening.contain, LoopbackKubelets: o.Kubelets.AllowLoopback,
	}
	if o.Kubelets.CAFile != "" {
		cas, err := authn.NewCAFile("CAs of kubelets", nil, o.Kubelets.CAFile, o.Logger)
		if err != nil {
			return nil, fmt.Errorf("--kubelet-certificate-authority: %w", err)
		}
		c.Roots = cas.Pool
	}
	return proxy.New(c), nil
}

// ownAddresses are the addresses at which this server can be reached.
type ownAddresses []netip.AddrPort

// newOwnAddresses returns the addresses of the listeners and of the service kubernetes,
// which leads to this server within a cluster.
func newOwnAddresses(listening []netip.AddrPort, serviceRanges []netip.Prefix) ownAddresses {
	own := slices.Clone(listening)
	for _, r := range serviceRanges {
		own = append(own, netip.AddrPortFrom(r.Addr().Next(), bootstrap.ServicePort))
	}
	return own
}

// contain reports whether a connection to an address reaches this server. The system connects the
// unspecified address to this machine.
func (own ownAddresses) contain(a netip.AddrPort) bool {
	a = outbound.Normal(a)
	return slices.ContainsFunc(own, func(l netip.AddrPort) bool {
		l = outbound.Normal(l)
		return l.Port() == a.Port() && (l == a || a.Addr().IsUnspecified() || l.Addr().IsUnspecified() && isLocalAddress(a.Addr()))
	})
}

// refuse is an outbound.Guard that refuses the addresses of this server.
func (own ownAddresses) refuse(a netip.AddrPort) error {
	if own.contain(a) {
		return fmt.Errorf("address not allowed: %s leads to this server itself", a)
	}
	return nil
}

// ownAddresses returns the addresses at which this server can be reached.
func (p *builder) ownAddresses() ownAddresses {
	listening := p.listenAddresses()
	port := listenAddress(p.secure).Port()
	if ip, err := netip.ParseAddr(p.o.Serving.AdvertiseAddress); err == nil {
		listening = append(listening, netip.AddrPortFrom(ip, port))
	}
	if p.o.Services.KubernetesNodePort > 0 { // leads to this server from each node
		listening = append(listening, netip.AddrPortFrom(netip.IPv6Unspecified(),
			uint16(p.o.Services.KubernetesNodePort)))
	}
	return newOwnAddresses(listening, p.o.pools().Addresses)
}

// guard keeps the server from sending requests to itself that it does not recognize as its own. All
// of its HTTP clients have it.
func (p *builder) guard() outbound.Guard { return p.ownAddresses().refuse }

// isLocalAddress reports whether an address belongs to this machine. It returns true if the
// interfaces cannot be listed.
func isLocalAddress(ip netip.Addr) bool {
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(net.IP(ip.AsSlice()))
	})
}

// listenAddress returns the address of a listener.
func listenAddress(l net.Listener) netip.AddrPort {
	return l.Addr().(*net.TCPAddr).AddrPort()
}
