package bootstrap

import (
	"net/netip"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestServerID checks the name of the Lease against kube-apiserver's.
func TestServerID(t *testing.T) {
	// kube-apiserver's name for a host called vm.
	if got, want := ServerID("vm"), "apiserver-wlv32tlttr4jl3gtroqexyxapa"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPeerAddress checks that the Lease has the address for other servers only if its feature gate is
// enabled.
func TestPeerAddress(t *testing.T) {
	for on, want := range map[bool]string{true: "192.0.2.2:6443", false: ""} {
		p := &Publication{
			Advertise: netip.MustParseAddr("192.0.2.2"), Port: 6443, Now: time.Now,
			Gates: features.Gates{features.UnknownVersionInteroperabilityProxy: on},
		}
		l, err := NewLease(p)
		if err != nil {
			t.Fatal(err)
		}
		lease := &coordinationv1.Lease{}
		l.sign(lease)
		if got := lease.Annotations[peerAnnotation]; got != want {
			t.Errorf("gate %t: %q, want %q", on, got, want)
		}
	}
}
