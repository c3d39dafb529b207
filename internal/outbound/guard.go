package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// DialFunc opens connections, as net.Dialer.DialContext does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Guard decides to which addresses the server connects: it returns an error for the others. It gets
// addresses in the form that Normal returns. A nil Guard permits every address.
type Guard func(netip.AddrPort) error

// Normal returns the form in which addresses can be compared: an IPv4 address for one that is mapped
// to IPv6, and no zone. The system ignores the zone of an address such as ::1, so that ::1%lo is
// another spelling of it.
func Normal(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// Dialer returns the dial function of d, restricted by the guard. The guard decides about the address
// of each socket just before it connects, so that neither the spelling of an address nor a name that
// resolves differently later evades it.
func (g Guard) Dialer(d net.Dialer) DialFunc {
	if g != nil {
		d.Control = func(network, address string, _ syscall.RawConn) error { return g.check(network, address) }
	}
	return d.DialContext
}

// Restrict returns a dial function that calls dial for the addresses that the guard permits. It
// checks IP addresses only: dial resolves names, perhaps in another network.
func (g Guard) Restrict(dial DialFunc) DialFunc {
	if g == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if _, err := netip.ParseAddrPort(address); err == nil {
			if err := g.check(network, address); err != nil {
				return nil, &net.OpError{Op: "dial", Net: network, Err: err}
			}
		}
		return dial(ctx, network, address)
	}
}

// check decides about the address of a socket. Sockets of other networks than IP cannot lead to a
// server that listens at an IP address.
func (g Guard) check(network, address string) error {
	if !strings.HasPrefix(network, "tcp") && !strings.HasPrefix(network, "udp") {
		return nil
	}
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %q cannot be checked: %w", address, err)
	}
	return g(Normal(a))
}
