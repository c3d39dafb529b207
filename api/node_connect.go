package api

import (
	"fmt"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// nodeProxy passes requests on to the kubelet of a node, or to another port.
func nodeProxy() *Subresource {
	return &Subresource{Name: "proxy", Verbs: webVerbs(), Connection: &Connection{
		Style: Web, Kind: "NodeProxyOptions", Empty: &corev1.NodeProxyOptions{},
		Options: func(_ url.Values, path string) (runtime.Object, error) {
			return &corev1.NodeProxyOptions{Path: path}, nil
		},
		Locate: func(near *Neighbours, name string, options runtime.Object) (*Location, error) {
			return locateNode(near, name, options.(*corev1.NodeProxyOptions).Path)
		},
	}}
}

func locateNode(near *Neighbours, id, path string) (*Location, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
	}
	at, err := near.kubelet(name)
	if err != nil {
		return nil, err
	}
	at.Path = utilnet.JoinPreservingTrailingSlash("", path)
	if port == "" || port == at.Port() {
		return &Location{URL: *at, Kubelet: true}, nil
	}
	at.Scheme, at.Host = scheme, net.JoinHostPort(at.Hostname(), port)
	return &Location{URL: *at, Guarded: true}, nil
}

// kubelet is the address of the kubelet of a node.
func (n *Neighbours) kubelet(node string) (*url.URL, error) {
	obj, err := n.Get("nodes", node)
	if err != nil {
		return nil, err
	}
	host, err := preferredAddress(obj.(*corev1.Node), n.AddressTypes)
	if err != nil {
		return nil, err
	}
	port := obj.(*corev1.Node).Status.DaemonEndpoints.KubeletEndpoint.Port
	if port <= 0 {
		port = n.Port
	}
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}, nil
}

// preferredAddress is the node's address of the best type that it has.
func preferredAddress(node *corev1.Node, types []string) (string, error) {
	for _, wanted := range types {
		for _, a := range node.Status.Addresses {
			if string(a.Type) == wanted {
				return a.Address, nil
			}
		}
		// Nodes that tell no name as an address have it as a label.
		if host := node.Labels[corev1.LabelHostname]; host != "" && wanted == string(corev1.NodeHostName) {
			return host, nil
		}
	}
	return "", fmt.Errorf("no preferred addresses found; known addresses: %v", node.Status.Addresses)
}
