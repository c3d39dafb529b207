package service

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/core/pod"
)

// serviceProxy returns the subresource proxy, which passes requests to one of the endpoints of
// a service.
func serviceProxy() *api.Subresource {
	return &api.Subresource{Name: "proxy", Verbs: api.ProxyVerbs(), Connection: api.NewConnection(api.Connect[*corev1.ServiceProxyOptions]{
		Style: api.StyleProxy, Kind: "ServiceProxyOptions",
		Options: func(_ url.Values, path string) (*corev1.ServiceProxyOptions, error) {
			return &corev1.ServiceProxyOptions{Path: path}, nil
		},
		Locate: func(lookup *api.ConnectLookup, name string, o *corev1.ServiceProxyOptions) (*api.Location, error) {
			return locateService(lookup, name, o.Path)
		},
	})}
}

func locateService(lookup *api.ConnectLookup, id, path string) (*api.Location, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	port, err := portName(lookup, name, port)
	if err != nil {
		return nil, err
	}
	obj, err := lookup.Get("endpoints", name)
	if err != nil {
		return nil, err
	}
	subsets := obj.(*corev1.Endpoints).Subsets
	if len(subsets) == 0 {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	for _, i := range rand.Perm(len(subsets)) {
		s := &subsets[i]
		p := slices.IndexFunc(s.Ports, func(p corev1.EndpointPort) bool { return p.Name == port })
		if p < 0 {
			continue
		}
		for _, j := range rand.Perm(len(s.Addresses)) {
			if a := &s.Addresses[j]; isPod(lookup, a, obj.GetNamespace()) {
				host := net.JoinHostPort(a.IP, strconv.Itoa(int(s.Ports[p].Port)))
				return &api.Location{URL: url.URL{Scheme: scheme, Host: host, Path: utilnet.JoinPreservingTrailingSlash("", path)}}, nil
			}
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", id))
}

// portName returns the name of the service port with the given name or number.
func portName(lookup *api.ConnectLookup, service, port string) (string, error) {
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return port, nil
	}
	obj, err := lookup.Get("services", service)
	if err != nil {
		return "", err
	}
	for _, p := range obj.(*corev1.Service).Spec.Ports {
		if int64(p.Port) == number {
			return p.Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, service))
}

// isPod reports whether an endpoint is the address of a pod in the namespace. Without this
// check, users who may write endpoints could let the server connect to any address.
func isPod(lookup *api.ConnectLookup, a *corev1.EndpointAddress, namespace string) bool {
	ref := a.TargetRef
	if ref == nil || ref.Kind != "" && ref.Kind != "Pod" || ref.Namespace != namespace {
		return false
	}
	target, err := pod.Get(lookup, ref.Name)
	if err != nil {
		return false
	}
	ip := net.ParseIP(a.IP)
	return ip != nil && ip.IsGlobalUnicast() && slices.ContainsFunc(target.Status.PodIPs, func(p corev1.PodIP) bool { return p.IP == a.IP })
}
