package outbound

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

var errRefused = errors.New("refused")

// TestGuardOfSpellings checks that a guard sees one form of an address, whatever its spelling, and
// that no connection to a refused address is made.
func TestGuardOfSpellings(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	loopback := Guard(func(a netip.AddrPort) error {
		if ip := a.Addr(); ip.IsLoopback() || ip.IsUnspecified() {
			return errRefused
		}
		return nil
	})
	hosts := []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::%lo", "::1%lo", "::%1", "::1%1", "0:0:0:0:0:0:0:0%lo",
		"::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:0.0.0.0", "0:0:0:0:0:ffff:127.0.0.1", "localhost",
	}
	for _, host := range hosts {
		conn, err := loopback.Dialer(net.Dialer{})(t.Context(), "tcp", net.JoinHostPort(host, port))
		if !errors.Is(err, errRefused) {
			t.Errorf("%s: %v", host, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	var none Guard
	conn, err := none.Dialer(net.Dialer{})(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("without a guard: %v", err)
	}
	conn.Close()
}

// TestGuardOfOtherDialers checks that a guard restricts the addresses that another dial function gets.
func TestGuardOfOtherDialers(t *testing.T) {
	var dialed []string
	dial := Guard(func(a netip.AddrPort) error {
		if a == netip.MustParseAddrPort("[::1]:443") {
			return errRefused
		}
		return nil
	}).Restrict(func(_ context.Context, _, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return nil, nil
	})
	for address, refused := range map[string]bool{"[::1%lo]:443": true, "[::1]:443": true, "[::1]:80": false, "localhost:443": false, "192.0.2.1:443": false} {
		dialed = nil
		_, err := dial(t.Context(), "tcp", address)
		if errors.Is(err, errRefused) != refused || (len(dialed) == 0) != refused {
			t.Errorf("%s: %v, dialled %v", address, err, dialed)
		}
	}
}
