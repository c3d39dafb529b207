package api

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func endpointsColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), textColumn("Endpoints", doc(corev1.Endpoints{}, "subsets")), ageColumn()}
}

func endpointsCells(obj Object) []any {
	e := obj.(*corev1.Endpoints)
	return []any{e.Name, endpointsCell(e.Subsets), Age(e)}
}

// endpointsCell lists the first addresses, each with each of its ports. Where
// there are no ports, as behind a headless service, addresses stand alone.
func endpointsCell(subsets []corev1.EndpointSubset) string {
	if len(subsets) == 0 {
		return cellNone
	}
	var shown []string
	total := 0
	show := func(s *corev1.EndpointSubset, text func(ip string) string) {
		for i := range s.Addresses {
			if total++; total <= cellMost {
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
	return more(shown, total)
}
