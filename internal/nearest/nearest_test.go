package nearest

import "testing"

// TestName checks that a mistyped name finds the name that was meant, and that an
// unrelated name finds none.
func TestName(t *testing.T) {
	known := []string{"secure-port", "bind-address", "etcd-servers", "etcd-cafile", "runtime-config", "name"}
	for name, want := range map[string]string{
		"secure-prot":  "secure-port",
		"secureport":   "secure-port",
		"etcd-server":  "etcd-servers",
		"etcd-ca-file": "etcd-cafile",
		"unrelated":    "",
		"kubeconfig":   "",
		"nmae":         "name",
		"":             "",
	} {
		if got := Name(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if got := Name("x", nil); got != "" {
		t.Errorf("got %q of no names", got)
	}
}
