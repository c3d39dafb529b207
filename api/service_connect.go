package api

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// serviceProxy passes requests on to one of the pods behind a service.
func serviceProxy() *Subresource {
	return &Subresource{Name: "proxy", Verbs: webVerbs(), Connection: &Connection{
		Style: Web, Kind: "ServiceProxyOptions", Empty: &corev1.ServiceProxyOptions{},
		Options: func(_ url.Values, path string) (runtime.Object, error) {
			return &corev1.ServiceProxyOptions{Path: path}, nil
		},
		Locate: func(near *Neighbours, name string, options runtime.Object) (*Location, error) {
			return locateService(near, name, options.(*corev1.ServiceProxyOptions).Path)
		},
	}}
}

func locateService(near *Neighbours, id, path string) (*Location, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	port, err := near.portName(name, port)
	if err != nil {
		return nil, err
	}
	obj, err := near.Get("endpoints", name)
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
			if a := &s.Addresses[j]; near.isPod(a, obj.GetNamespace()) {
				host := net.JoinHostPort(a.IP, strconv.Itoa(int(s.Ports[p].Port)))
				return &Location{URL: url.URL{Scheme: scheme, Host: host, Path: utilnet.JoinPreservingTrailingSlash("", path)}}, nil
			}
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", id))
}

// portName is the name of a service's port, which may be asked for by number.
func (n *Neighbours) portName(service, port string) (string, error) {
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return port, nil
	}
	obj, err := n.Get("services", service)
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

// isPod tells whether an endpoint is the address of a pod of the namespace. Who
// may write endpoints could else have the server call whatever he likes.
func (n *Neighbours) isPod(a *corev1.EndpointAddress, namespace string) bool {
	ref := a.TargetRef
	if ref == nil || ref.Kind != "" && ref.Kind != "Pod" || ref.Namespace != namespace {
		return false
	}
	pod, err := n.pod(ref.Name)
	if err != nil {
		return false
	}
	ip := net.ParseIP(a.IP)
	return ip != nil && ip.IsGlobalUnicast() && slices.ContainsFunc(pod.Status.PodIPs, func(p corev1.PodIP) bool { return p.IP == a.IP })
}
