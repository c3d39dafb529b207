package api

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ingressV1beta1 names service and port of a backend in two fields, has another
// name for the default backend, and lets out the type of a path.
func ingressV1beta1() Version {
	return unlike(networkingv1beta1.SchemeGroupVersion,
		func(hub *networkingv1.Ingress, old *networkingv1beta1.Ingress) {
			if old.Spec.Backend != nil {
				hub.Spec.DefaultBackend = &networkingv1.IngressBackend{}
				backendToHub(hub.Spec.DefaultBackend, old.Spec.Backend)
			}
			for i := range old.Spec.Rules {
				if http := old.Spec.Rules[i].HTTP; http != nil {
					pathsToHub(hub.Spec.Rules[i].HTTP.Paths, http.Paths)
				}
			}
		},
		func(old *networkingv1beta1.Ingress, hub *networkingv1.Ingress) {
			if hub.Spec.DefaultBackend != nil {
				old.Spec.Backend = &networkingv1beta1.IngressBackend{}
				backendFromHub(old.Spec.Backend, hub.Spec.DefaultBackend)
			}
			for i := range hub.Spec.Rules {
				if http := hub.Spec.Rules[i].HTTP; http != nil {
					pathsFromHub(old.Spec.Rules[i].HTTP.Paths, http.Paths)
				}
			}
		})
}

func pathsToHub(hub []networkingv1.HTTPIngressPath, old []networkingv1beta1.HTTPIngressPath) {
	for i := range old {
		backendToHub(&hub[i].Backend, &old[i].Backend)
		if hub[i].PathType == nil {
			any := networkingv1.PathTypeImplementationSpecific
			hub[i].PathType = &any
		}
	}
}

func pathsFromHub(old []networkingv1beta1.HTTPIngressPath, hub []networkingv1.HTTPIngressPath) {
	for i := range hub {
		backendFromHub(&old[i].Backend, &hub[i].Backend)
	}
}

func backendToHub(hub *networkingv1.IngressBackend, old *networkingv1beta1.IngressBackend) {
	hub.Resource = old.Resource
	port := old.ServicePort
	if old.ServiceName == "" && port == (intstr.IntOrString{}) {
		return
	}
	hub.Service = &networkingv1.IngressServiceBackend{Name: old.ServiceName}
	if port.Type == intstr.String {
		hub.Service.Port.Name = port.StrVal
	} else {
		hub.Service.Port.Number = port.IntVal
	}
}

func backendFromHub(old *networkingv1beta1.IngressBackend, hub *networkingv1.IngressBackend) {
	old.Resource = hub.Resource
	if hub.Service == nil {
		return
	}
	old.ServiceName = hub.Service.Name
	if name := hub.Service.Port.Name; name != "" {
		old.ServicePort = intstr.FromString(name)
	} else {
		old.ServicePort = intstr.FromInt32(hub.Service.Port.Number)
	}
}
