// Package kubelet finds the kubelet of a node, to which the subresources of nodes and pods
// connect.
package kubelet

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Locate returns the location of the kubelet of a node.
func Locate(n *api.ConnectLookup, node string) (*api.Location, error) {
	obj, err := n.Get("nodes", node)
	if err != nil {
		return nil, err
	}
	status := &obj.(*corev1.Node).Status
	host, err := preferredAddress(obj.(*corev1.Node), n.AddressTypes)
	if err != nil {
		return nil, err
	}
	port := status.DaemonEndpoints.KubeletEndpoint.Port
	if port <= 0 {
		port = n.Port
	}
	return &api.Location{
		URL:        url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))},
		Kubelet:    true,
		WebSockets: n.WebSockets && slices.Contains(status.DeclaredFeatures, features.ExtendWebSocketsToKubelet),
	}, nil
}

// preferredAddress returns the node's address of the first type in types that it has.
func preferredAddress(node *corev1.Node, types []string) (string, error) {
	for _, wanted := range types {
		for _, a := range node.Status.Addresses {
			if string(a.Type) == wanted {
				return a.Address, nil
			}
		}
		// Nodes without an address of type Hostname have a label with it.
		if host := node.Labels[corev1.LabelHostname]; host != "" && wanted == string(corev1.NodeHostName) {
			return host, nil
		}
	}
	return "", fmt.Errorf("no preferred addresses found; known addresses: %v", node.Status.Addresses)
}
