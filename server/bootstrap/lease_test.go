package bootstrap

import "testing"

// TestServerID checks the name of the Lease against kube-apiserver's.
func TestServerID(t *testing.T) {
	// kube-apiserver's name for a host called vm.
	if got, want := ServerID("vm"), "apiserver-wlv32tlttr4jl3gtroqexyxapa"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
