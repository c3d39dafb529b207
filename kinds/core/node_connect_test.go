package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// TestNodeProxy checks that requests for the port of the kubelet present the certificate for kubelets, and that all
// are guarded: a node must not be the server itself.
func TestNodeProxy(t *testing.T) {
	const node = "status: {addresses: [{type: InternalIP, address: 10.0.0.1}, {type: ExternalIP, address: 1.2.3.4}]}"
	kindtest.New(t, "nodes.v1", node).Connect("proxy", nil, kindtest.Connections{
		{"kubelet", "", "x", "https://10.0.0.1:10250 Kubelet Guarded"},
		{"path", "", "x/logs/", "https://10.0.0.1:10250/logs/ Kubelet Guarded"},
		{"port of the kubelet", "", "x:10250", "https://10.0.0.1:10250 Kubelet Guarded"},
		{"other port", "", "x:80/a", "//10.0.0.1:80/a Guarded"},
		{"scheme", "", "https:x:443/a", "https://10.0.0.1:443/a Guarded"},
		{"port of the status", "status.daemonEndpoints.kubeletEndpoint.Port: 10255", "x",
			"https://10.0.0.1:10255 Kubelet Guarded"},
		{"unknown scheme", "", "ftp:x:21", `invalid node request "ftp:x:21"`},
		{"unknown node", "", "z", `nodes "z" not found`},
		{"no address", "status: {}", "x", "no preferred addresses found; known addresses: []"},
	})
}
