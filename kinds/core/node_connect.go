package core

import (
	"fmt"
	"net"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/core/kubelet"
)

// nodeProxy returns the subresource proxy, which passes requests to the kubelet of a node or
// to another port.
func nodeProxy() *api.Connection {
	return api.NewConnection(api.Connection{Name: "proxy", Verbs: api.ProxyVerbs(), Style: api.StyleProxy, Kind: "NodeProxyOptions"},
		func(_ url.Values, path string) (*corev1.NodeProxyOptions, error) {
			return &corev1.NodeProxyOptions{Path: path}, nil
		},
		func(lookup *api.ConnectLookup, name string, o *corev1.NodeProxyOptions) (*api.Location, error) {
			return locateNode(lookup, name, o.Path)
		})
}

func locateNode(lookup *api.ConnectLookup, id, path string) (*api.Location, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
	}
	at, err := kubelet.Locate(lookup, name)
	if err != nil {
		return nil, err
	}
	at.URL.Path, at.Guarded = utilnet.JoinPreservingTrailingSlash("", path), true
	if port == "" || port == at.URL.Port() {
		return at, nil
	}
	at.URL.Scheme, at.URL.Host = scheme, net.JoinHostPort(at.URL.Hostname(), port)
	return &api.Location{URL: at.URL, Guarded: true}, nil
}
