package service

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// serviceProxy returns the subresource proxy, which passes requests to one of the endpoints of
// a service.
func serviceProxy() *api.Connection {
	return api.NewConnection(api.Connection{Name: "proxy", Verbs: api.ProxyVerbs(), Style: api.StyleProxy, Kind: "ServiceProxyOptions"},
		func(_ url.Values, path string) (*corev1.ServiceProxyOptions, error) {
			return &corev1.ServiceProxyOptions{Path: path}, nil
		},
		func(lookup *api.ConnectLookup, name string, o *corev1.ServiceProxyOptions) (*api.Location, error) {
			return locateService(lookup, name, o.Path)
		})
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
	objects, err := lookup.List(discoveryv1.SchemeGroupVersion.WithResource("endpointslices").GroupResource(),
		discoveryv1.LabelServiceName, name)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	for _, slice := range shuffled(objects, lookup.PrefersIPv6) {
		if host := hostOf(lookup, slice, port); host != "" {
			return &api.Location{URL: url.URL{Scheme: scheme, Host: host, Path: utilnet.JoinPreservingTrailingSlash("", path)}}, nil
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
}

// shuffled returns slices in random order, those of the preferred IP family first.
func shuffled(objects []api.Object, prefersIPv6 bool) []*discoveryv1.EndpointSlice {
	preferred, others := []*discoveryv1.EndpointSlice{}, []*discoveryv1.EndpointSlice{}
	for _, i := range rand.Perm(len(objects)) {
		slice := objects[i].(*discoveryv1.EndpointSlice)
		if prefersIPv6 == (slice.AddressType == discoveryv1.AddressTypeIPv6) {
			preferred = append(preferred, slice)
		} else {
			others = append(others, slice)
		}
	}
	return append(preferred, others...)
}

// hostOf returns the address and port of a ready pod in a slice, or "".
func hostOf(lookup *api.ConnectLookup, slice *discoveryv1.EndpointSlice, port string) string {
	p := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
		return p.Port != nil && p.Name != nil && *p.Name == port
	})
	if p < 0 {
		return ""
	}
	for _, i := range rand.Perm(len(slice.Endpoints)) {
		e := &slice.Endpoints[i]
		isReady := e.Conditions.Ready == nil || *e.Conditions.Ready
		if isReady && len(e.Addresses) > 0 && isPod(lookup, e, slice.Namespace) {
			return net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*slice.Ports[p].Port)))
		}
	}
	return ""
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

// isPod reports whether an endpoint has the address of a pod in the namespace. Without this
// check, users who may write slices could let the server connect to any address.
func isPod(lookup *api.ConnectLookup, e *discoveryv1.Endpoint, namespace string) bool {
	ref, address := e.TargetRef, e.Addresses[0]
	if ref == nil || ref.Kind != "" && ref.Kind != "Pod" || ref.Namespace != namespace {
		return false
	}
	target, err := pod.Get(lookup, ref.Name)
	if err != nil {
		return false
	}
	ip := net.ParseIP(address)
	return ip != nil && ip.IsGlobalUnicast() && slices.ContainsFunc(target.Status.PodIPs, func(p corev1.PodIP) bool { return p.IP == address })
}
