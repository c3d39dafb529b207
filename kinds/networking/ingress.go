package networking

import (
	"cmp"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
)

// Ingress describes the kind Ingress, which routes HTTP requests from outside to services.
func Ingress(gates features.Gates) *api.Resource {
	check := ingressCheck{relaxedServiceNames: gates.Enabled(features.RelaxedServiceNameValidation)}
	return api.NewResource(api.Kind[*networkingv1.Ingress]{
		Names:           api.Names{Name: "ingresses", Singular: "ingress", Kind: "Ingress", ShortNames: []string{"ing"}, Namespaced: true},
		Versions:        api.WithOlderVersions(api.Served(networkingv1.SchemeGroupVersion), ingressV1beta1()),
		RemovedVersions: api.RemovedVersions("extensions/v1beta1"),
		Storage:         api.Storage{Prefix: "ingress"},
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(check.create)),
			api.Changes(check.rules),
			api.Declared,
			api.OnCreate(api.Warn(ingressWarnings)),
		),
		HasGeneration: true,
		Status: api.NewStatus(
			nil,
			api.Metadata, api.Changes(ingressStatusChanges), api.Declared, api.Warn(ingressStatusWarnings),
		),
		Table: api.Rows(ingressRow),
	})
}

func ingressRow(row *table.Row, i *networkingv1.Ingress) {
	class, ports := table.CellNone, "80"
	if i.Spec.IngressClassName != nil {
		class = *i.Spec.IngressClassName
	}
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	points := make([]string, 0, len(i.Status.LoadBalancer.Ingress))
	for _, p := range i.Status.LoadBalancer.Ingress {
		points = append(points, cmp.Or(p.IP, p.Hostname))
	}
	row.Name(i.Name)
	row.Text("Class", "The name of the IngressClass resource that should be used for additional configuration", class)
	row.Text("Hosts", "Hosts that incoming requests are matched against before the ingress rule", hostsCell(i.Spec.Rules))
	row.Text("Address", "Address is a list containing ingress points for the load-balancer", service.LoadBalancerCell(points))
	row.Text("Ports", "Ports of TLS configurations that open", ports)
	row.Age(i)
}

// hostsCell returns the first hosts. The number of further hosts includes rules without a
// host.
func hostsCell(rules []networkingv1.IngressRule) string {
	var hosts []string
	for _, r := range rules {
		if len(hosts) == table.MaxListedInCell {
			return strings.Join(hosts, ",") + " + " + strconv.Itoa(len(rules)-table.MaxListedInCell) + " more..."
		}
		if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	return cmp.Or(strings.Join(hosts, ","), "*")
}

// ingressV1beta1 converts v1beta1, which has two fields for the service and the port of a
// backend, another name for the default backend, and optional path types.
func ingressV1beta1() api.Version {
	return api.ConvertedVersion(networkingv1beta1.SchemeGroupVersion,
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
