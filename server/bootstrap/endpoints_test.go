package bootstrap

import (
	"net/netip"
	"slices"
	"testing"
)

func TestLeaseHolders(t *testing.T) {
	self, other := netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.1")
	for _, tc := range []struct {
		name string
		keys []string
		also []netip.Addr
		want []netip.Addr
	}{
		{"both have a lease", []string{"192.0.2.2", "192.0.2.1"}, []netip.Addr{self}, []netip.Addr{other, self}},
		{"a server of the same address withdrew the common key", nil, []netip.Addr{self}, []netip.Addr{self}},
		{"this server has withdrawn", []string{"192.0.2.1"}, nil, []netip.Addr{other}},
		{"the last server has withdrawn", nil, nil, nil},
		{"a key without an address", []string{"x", "192.0.2.1"}, nil, []netip.Addr{other}},
	} {
		leases := map[string][]byte{}
		for _, key := range tc.keys {
			leases[key] = nil
		}
		if got := leaseHolders(leases, tc.also...); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
