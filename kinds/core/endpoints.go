package core

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
)

// Endpoints describes the kind Endpoints, the deprecated predecessor of EndpointSlice.
func Endpoints(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*corev1.Endpoints]{
		Names:               api.Names{Name: "endpoints", Singular: "endpoints", Kind: "Endpoints", ShortNames: []string{"ep"}, Namespaced: true},
		Versions:            api.Served(corev1.SchemeGroupVersion),
		Deprecated:          "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
		Default:             defaultEndpoints,
		Storage:             api.Storage{Prefix: "services/endpoints"},
		AllowCreateOnUpdate: true,
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(endpointsRules)),
			api.Changes(endpointsChanges),
			api.Declared,
			api.Warn(endpointsWarnings),
		),
		Table: api.Rows(endpointsRow),
	})
}

func defaultEndpoints(obj *corev1.Endpoints) {
	subsets := obj.Subsets
	for i := range subsets {
		for j := range subsets[i].Ports {
			if p := &subsets[i].Ports[j]; p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP
			}
		}
	}
}

func endpointsRow(row *table.Row, e *corev1.Endpoints) {
	row.Name(e.Name)
	row.Text("Endpoints", ".subsets", endpointsCell(e.Subsets))
	row.Age(e)
}

// endpointsCell lists the first addresses, each with each of the ports. The addresses of a
// headless service may have no ports.
func endpointsCell(subsets []corev1.EndpointSubset) string {
	if len(subsets) == 0 {
		return table.CellNone
	}
	var shown []string
	total := 0
	show := func(s *corev1.EndpointSubset, text func(ip string) string) {
		for i := range s.Addresses {
			if total++; total <= table.MaxListedInCell {
				shown = append(shown, text(s.Addresses[i].IP))
			}
		}
	}
	for i := range subsets {
		s := &subsets[i]
		if len(s.Ports) == 0 {
			show(s, func(ip string) string { return ip })
		}
		for _, p := range s.Ports {
			show(s, func(ip string) string { return net.JoinHostPort(ip, strconv.Itoa(int(p.Port))) })
		}
	}
	return table.JoinFirst(shown, total)
}

func endpointsRules(at *validation.Path, e *corev1.Endpoints) {
	subsetListRules(at.Child("subsets"), e.Subsets, nil)
}

// endpointsChanges validates addresses only if they change, because stored ones may have
// formats that are no longer valid.
func endpointsChanges(at *validation.Path, obj, old *corev1.Endpoints) {
	if equality.Semantic.DeepEqual(obj.Subsets, old.Subsets) {
		return
	}
	var known []string
	for i := range old.Subsets {
		for _, list := range [][]corev1.EndpointAddress{old.Subsets[i].Addresses, old.Subsets[i].NotReadyAddresses} {
			for j := range list {
				known = append(known, list[j].IP)
			}
		}
	}
	subsetListRules(at.Child("subsets"), obj.Subsets, known)
}

func subsetListRules(at *validation.Path, list []corev1.EndpointSubset, known []string) {
	for i := range list {
		s, at := &list[i], at.Index(i)
		if len(s.Addresses)+len(s.NotReadyAddresses) == 0 {
			at.Required("must specify `addresses` or `notReadyAddresses`")
		}
		for j := range s.Addresses {
			endpointAddressRules(at.Child("addresses").Index(j), &s.Addresses[j], known)
		}
		for j := range s.NotReadyAddresses {
			endpointAddressRules(at.Child("notReadyAddresses").Index(j), &s.NotReadyAddresses[j], known)
		}
		for j := range s.Ports {
			endpointPortRules(at.Child("ports").Index(j), &s.Ports[j], len(s.Ports) > 1)
		}
	}
}

func endpointAddressRules(at *validation.Path, a *corev1.EndpointAddress, known []string) {
	validation.IPOrStored(at.Child("ip"), a.IP, known)
	validation.OptionalFormat(at.Child("hostname"), a.Hostname, validation.DNSLabel)
	if a.NodeName != nil {
		validation.Format(at.Child("nodeName"), *a.NodeName, validation.DNSSubdomain)
	}
	service.EndpointAddress(at.Child("ip"), a.IP)
}

func endpointPortRules(at *validation.Path, p *corev1.EndpointPort, named bool) {
	if p.Name != "" {
		validation.Format(at.Child("name"), p.Name, validation.DNSLabel)
	} else if named {
		at.Child("name").Required("")
	}
	validation.PortNumber(at.Child("port"), p.Port)
	validation.Protocol(at.Child("protocol"), p.Protocol)
	if p.AppProtocol != nil {
		validation.Format(at.Child("appProtocol"), *p.AppProtocol, validation.QualifiedName)
	}
}

func endpointsWarnings(obj *corev1.Endpoints) []string {
	return validation.Warn(func(at *validation.Path) {
		for i, s := range obj.Subsets {
			subset := at.Child("subsets").Index(i)
			for j, a := range s.Addresses {
				validation.WarnIPForm(subset.Child("addresses").Index(j).Child("ip"), a.IP)
			}
			for j, a := range s.NotReadyAddresses {
				validation.WarnIPForm(subset.Child("notReadyAddresses").Index(j).Child("ip"), a.IP)
			}
		}
	})
}
