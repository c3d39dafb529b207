package kubelet_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/core/kubelet"
)

// TestLocate checks which address and port of a node is that of its kubelet.
func TestLocate(t *testing.T) {
	address := func(kind, value string) corev1.NodeAddress {
		return corev1.NodeAddress{Type: corev1.NodeAddressType(kind), Address: value}
	}
	none := corev1.NodeStatus{}
	both := corev1.NodeStatus{Addresses: []corev1.NodeAddress{address("InternalIP", "10.0.0.1"), address("Hostname", "a")}}
	internal := corev1.NodeStatus{Addresses: []corev1.NodeAddress{address("InternalIP", "10.0.0.1")}}
	external := corev1.NodeStatus{Addresses: []corev1.NodeAddress{address("ExternalIP", "1.2.3.4")}}
	six := corev1.NodeStatus{Addresses: []corev1.NodeAddress{address("InternalIP", "fd00::1")}}
	port := *internal.DeepCopy()
	port.DaemonEndpoints.KubeletEndpoint.Port = 10255
	sockets := *internal.DeepCopy()
	sockets.DeclaredFeatures = []string{"ExtendWebSocketsToKubelet"}
	for name, c := range map[string]struct {
		status corev1.NodeStatus
		labels map[string]string
		want   string
	}{
		"first type that the node has": {both, nil, "https://a:10250"},
		"second type":                  {internal, nil, "https://10.0.0.1:10250"},
		"host name in a label":         {internal, map[string]string{"kubernetes.io/hostname": "b"}, "https://b:10250"},
		"label of another name":        {internal, map[string]string{"host": "b"}, "https://10.0.0.1:10250"},
		"address of version 6":         {six, nil, "https://[fd00::1]:10250"},
		"port of the node":             {port, nil, "https://10.0.0.1:10255"},
		"WebSockets":                   {sockets, nil, "https://10.0.0.1:10250 WebSockets"},
		"no address":                   {none, nil, "no preferred addresses found; known addresses: []"},
		"no address of these types": {external, nil,
			"no preferred addresses found; known addresses: [{ExternalIP 1.2.3.4}]"},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: c.labels}, Status: c.status}
		lookup := &api.ConnectLookup{
			Get:      func(string, string) (api.Object, error) { return node, nil },
			Kubelets: api.Kubelets{AddressTypes: []string{"Hostname", "InternalIP"}, Port: 10250, WebSockets: true},
		}
		got := ""
		switch at, err := kubelet.Locate(lookup, "node"); {
		case err != nil:
			got = err.Error()
		case !at.Kubelet:
			got = "no kubelet"
		default:
			got = at.URL.String()
			if at.WebSockets {
				got += " WebSockets"
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
