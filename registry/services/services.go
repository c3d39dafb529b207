// Package services resolves services of the cluster to addresses, for the parts of the
// server that call programs behind them: webhooks and other API servers.
package services

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Resolver resolves services by the caches of a registry.
type Resolver struct {
	Registry *registry.Registry
	// Endpoints requires a ready endpoint as the address. Otherwise the address is the
	// cluster IP, but Dial is still an endpoint if one is ready, because this machine may
	// have no kube-proxy that routes cluster IPs.
	Endpoints bool
}

// Resolve returns the address of a service.
func (r *Resolver) Resolve(ctx context.Context, s outbound.Service) (outbound.Address, error) {
	svc, err := r.Service(ctx, s)
	if err != nil {
		return outbound.Address{}, err
	}
	switch svc.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
	case corev1.ServiceTypeExternalName:
		if !r.Endpoints {
			return directAddress(net.JoinHostPort(svc.Spec.ExternalName, strconv.Itoa(int(s.Port)))), nil
		}
		fallthrough
	default:
		return outbound.Address{}, fmt.Errorf("unsupported service type %q", svc.Spec.Type)
	}
	if !r.Endpoints && svc.Spec.Type == corev1.ServiceTypeClusterIP && svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return outbound.Address{}, errors.New(`cannot route to service with ClusterIP "None"`)
	}
	p := FindPort(svc, s.Port)
	if p == nil {
		return outbound.Address{}, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", s.Port, svc.Name))
	}
	slices, err := r.EndpointSlices(ctx, s)
	if err != nil {
		return outbound.Address{}, err
	}
	ready := readyAddresses(inFamily(slices, svc, true), p.Name)
	if len(ready) == 0 {
		ready = readyAddresses(inFamily(slices, svc, false), p.Name)
	}
	switch host := net.JoinHostPort(svc.Spec.ClusterIP, strconv.Itoa(int(p.Port))); {
	case r.Endpoints && len(ready) == 0:
		return outbound.Address{}, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", svc.Name))
	case r.Endpoints:
		return directAddress(ready[rand.IntN(len(ready))]), nil
	case len(ready) == 0:
		return directAddress(host), nil
	default:
		return outbound.Address{Host: host, Dial: ready[rand.IntN(len(ready))]}, nil
	}
}

func directAddress(address string) outbound.Address {
	return outbound.Address{Host: address, Dial: address}
}

// FindPort returns the port of a service with a number, or nil.
func FindPort(svc *corev1.Service, number int32) *corev1.ServicePort {
	for i := range svc.Spec.Ports {
		if p := &svc.Spec.Ports[i]; p.Port == number {
			return p
		}
	}
	return nil
}

// Service returns a service, which must not be changed.
func (r *Resolver) Service(ctx context.Context, s outbound.Service) (*corev1.Service, error) {
	res, err := r.Registry.FindResource(corev1.Resource("services"))
	if err != nil {
		return nil, err
	}
	t := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: s.Namespace, Name: s.Name}
	// The cache may lag behind the creation of the service.
	item, err := r.Registry.Get(ctx, t, storage.Read{Match: storage.Any})
	if apierrors.IsNotFound(err) {
		item, err = r.Registry.Get(ctx, t, storage.Read{})
	}
	switch {
	case apierrors.IsNotFound(err):
		// kube-apiserver names the kind here, and not the resource.
		return nil, apierrors.NewNotFound(corev1.Resource("service"), s.Name)
	case err != nil:
		return nil, err
	}
	obj, err := item.Object()
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Service), nil
}

// EndpointSlices returns the EndpointSlices of a service.
func (r *Resolver) EndpointSlices(ctx context.Context, s outbound.Service) ([]*discoveryv1.EndpointSlice, error) {
	res, err := r.Registry.FindResource(schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"})
	if err != nil {
		return nil, err
	}
	t := registry.Target{Resource: res, Version: &res.Versions[0], Namespace: s.Namespace}
	list, err := r.Registry.List(ctx, t, registry.ListOptions{
		Selection: registry.Selection{Labels: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.Name})},
		Read:      storage.Read{Match: storage.Any},
	})
	if err != nil {
		return nil, err
	}
	objects, err := list.Objects()
	if err != nil {
		return nil, err
	}
	out := make([]*discoveryv1.EndpointSlice, len(objects))
	for i, obj := range objects {
		out[i] = obj.(*discoveryv1.EndpointSlice)
	}
	return out, nil
}

// inFamily returns the slices that have the primary IP family of a service, or the slices that do not.
func inFamily(slices []*discoveryv1.EndpointSlice, svc *corev1.Service, isPrimary bool) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, s := range slices {
		if isPrimary == (len(svc.Spec.IPFamilies) > 0 && string(s.AddressType) == string(svc.Spec.IPFamilies[0])) {
			out = append(out, s)
		}
	}
	return out
}

// readyAddresses returns the addresses of ready endpoints, with the port of a name.
func readyAddresses(slices []*discoveryv1.EndpointSlice, port string) []string {
	var out []string
	for _, slice := range slices {
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name == nil || *p.Name != port {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && !*e.Conditions.Ready {
					continue
				}
				if len(e.Addresses) > 0 { // as everywhere in Kubernetes, only the first one counts
					out = append(out, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*p.Port))))
				}
			}
		}
	}
	return out
}
