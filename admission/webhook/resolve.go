package webhook

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

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
)

// resolver finds the address of a service.
type resolver struct {
	objects *admission.Objects
	// endpoints: an endpoint is picked instead of the cluster's address.
	endpoints bool
}

func (r *resolver) resolve(ctx context.Context, s *serviceRef) (string, error) {
	svc, err := r.service(ctx, s)
	if err != nil {
		return "", err
	}
	switch svc.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
	case corev1.ServiceTypeExternalName:
		if !r.endpoints {
			return net.JoinHostPort(svc.Spec.ExternalName, strconv.Itoa(int(s.port))), nil
		}
		fallthrough
	default:
		return "", fmt.Errorf("unsupported service type %q", svc.Spec.Type)
	}
	if !r.endpoints && svc.Spec.Type == corev1.ServiceTypeClusterIP && svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return "", errors.New(`cannot route to service with ClusterIP "None"`)
	}
	for i := range svc.Spec.Ports {
		if p := &svc.Spec.Ports[i]; p.Port == s.port {
			if r.endpoints {
				return r.endpoint(ctx, svc, p)
			}
			return net.JoinHostPort(svc.Spec.ClusterIP, strconv.Itoa(int(p.Port))), nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", s.port, svc.Name))
}

func (r *resolver) service(ctx context.Context, s *serviceRef) (*corev1.Service, error) {
	res, _, ok := r.objects.Kind(corev1.SchemeGroupVersion.WithKind("Service"))
	if !ok {
		return nil, errors.New("there are no services")
	}
	obj, err := r.objects.Get(ctx, res, s.namespace, s.name)
	switch {
	case apierrors.IsNotFound(err):
		// kube-apiserver names the kind here, and not the resource.
		return nil, apierrors.NewNotFound(corev1.Resource("service"), s.name)
	case err != nil:
		return nil, err
	}
	return obj.(*corev1.Service), nil
}

// endpoint picks one that is ready.
func (r *resolver) endpoint(ctx context.Context, svc *corev1.Service, p *corev1.ServicePort) (string, error) {
	res, _, ok := r.objects.Kind(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"))
	if !ok {
		return "", errors.New("there are no endpoint slices")
	}
	slices, err := r.objects.List(ctx, res, svc.Namespace, labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: svc.Name}))
	if err != nil {
		return "", err
	}
	addresses := readyAddresses(slices, p.Name)
	if len(addresses) == 0 {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", svc.Name))
	}
	return addresses[rand.IntN(len(addresses))], nil
}

// readyAddresses are those of endpoints that are ready, with the port of a name.
func readyAddresses(slices []api.Object, port string) []string {
	var out []string
	for _, obj := range slices {
		slice := obj.(*discoveryv1.EndpointSlice)
		for _, p := range slice.Ports {
			if p.Port == nil || portName(p.Name) != port {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && !*e.Conditions.Ready {
					continue
				}
				for _, a := range e.Addresses {
					out = append(out, net.JoinHostPort(a, strconv.Itoa(int(*p.Port))))
				}
			}
		}
	}
	return out
}

func portName(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}
