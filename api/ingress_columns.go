package api

import (
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func ingressColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Class", "The name of the IngressClass resource that should be used for additional configuration"),
		textColumn("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
		textColumn("Address", "Address is a list containing ingress points for the load-balancer"),
		textColumn("Ports", "Ports of TLS configurations that open"),
		ageColumn(),
	}
}

func ingressCells(obj Object) []any {
	i := obj.(*networkingv1.Ingress)
	class, ports := cellNone, "80"
	if i.Spec.IngressClassName != nil {
		class = *i.Spec.IngressClassName
	}
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	points := make([]string, 0, len(i.Status.LoadBalancer.Ingress))
	for _, p := range i.Status.LoadBalancer.Ingress {
		points = append(points, orElse(p.IP, p.Hostname))
	}
	return []any{i.Name, class, hostsCell(i.Spec.Rules), pointsCell(points), ports, Age(i)}
}

// hostsCell lists the first hosts. All rules count in the number of those that
// are not shown, those without a host too.
func hostsCell(rules []networkingv1.IngressRule) string {
	var hosts []string
	for _, r := range rules {
		if len(hosts) == cellMost {
			return strings.Join(hosts, ",") + " + " + strconv.Itoa(len(rules)-cellMost) + " more..."
		}
		if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	return orElse(strings.Join(hosts, ","), "*")
}

// pointsCell lists the addresses of a load balancer, each once and sorted.
func pointsCell(points []string) string {
	points = slices.DeleteFunc(points, func(p string) bool { return p == "" })
	slices.Sort(points)
	return strings.Join(slices.Compact(points), ",")
}
