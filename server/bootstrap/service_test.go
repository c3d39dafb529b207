package bootstrap

import (
	"net"
	"testing"
)

// TestAdvertiseAddress checks that no server advertises an address that leads nowhere.
func TestAdvertiseAddress(t *testing.T) {
	for _, bind := range []string{"0.0.0.0", "::", "127.0.0.1", "::1"} {
		// A machine without a network has no other address to advertise.
		if ip := AdvertiseAddress(net.ParseIP(bind)); ip.IsValid() && (ip.IsUnspecified() || ip.IsLoopback() || ip.Is4In6()) {
			t.Errorf("--bind-address %s advertises %s", bind, ip)
		}
	}
	for _, bind := range []string{"192.0.2.7", "2001:db8::7"} {
		if ip := AdvertiseAddress(net.ParseIP(bind)); ip.String() != bind {
			t.Errorf("--bind-address %s advertises %s", bind, ip)
		}
	}
}
