package api

import (
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func endpointSliceColumns() []metav1.TableColumnDefinition {
	slice := discoveryv1.EndpointSlice{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("AddressType", doc(slice, "addressType")),
		textColumn("Ports", doc(slice, "ports")),
		textColumn("Endpoints", doc(slice, "endpoints")),
		ageColumn(),
	}
}

func endpointSliceCells(obj Object) []any {
	s := obj.(*discoveryv1.EndpointSlice)
	var ports, addresses []string
	for _, p := range s.Ports[:min(len(s.Ports), cellMost)] {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	total := 0
	for i := range s.Endpoints {
		for _, a := range s.Endpoints[i].Addresses {
			if total++; total <= cellMost {
				addresses = append(addresses, a)
			}
		}
	}
	return []any{
		s.Name, string(s.AddressType),
		orElse(more(ports, len(s.Ports)), cellUnset), orElse(more(addresses, total), cellUnset), Age(s),
	}
}
