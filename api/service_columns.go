package api

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func serviceColumns() []metav1.TableColumnDefinition {
	spec := corev1.ServiceSpec{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Type", doc(spec, "type")),
		textColumn("Cluster-IP", doc(spec, "clusterIP")),
		textColumn("External-IP", doc(spec, "externalIPs")),
		textColumn("Port(s)", doc(spec, "ports")),
		ageColumn(),
		wide(textColumn("Selector", doc(spec, "selector"))),
	}
}

func serviceCells(obj Object) []any {
	s := obj.(*corev1.Service)
	inside := cellNone
	if len(s.Spec.ClusterIPs) > 0 {
		inside = s.Spec.ClusterIPs[0]
	}
	return []any{
		s.Name, string(s.Spec.Type), inside, serviceOutside(s), portsCell(s.Spec.Ports), Age(s),
		labels.FormatLabels(s.Spec.Selector),
	}
}

// serviceOutside is where a service is reached from outside the cluster.
func serviceOutside(s *corev1.Service) string {
	external := strings.Join(s.Spec.ExternalIPs, ",")
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orElse(external, cellNone)
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		points := make([]string, 0, len(s.Status.LoadBalancer.Ingress))
		for _, p := range s.Status.LoadBalancer.Ingress {
			points = append(points, orElse(p.IP, p.Hostname))
		}
		balancer := pointsCell(points)
		if balancer != "" && external != "" {
			return balancer + "," + external
		}
		return orElse(balancer+external, "<pending>")
	}
	return cellUnknown
}

// portsCell lists ports as "80/TCP", or "80:30080/TCP" with a port of the nodes.
func portsCell(ports []corev1.ServicePort) string {
	var b strings.Builder
	for i := range ports {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(ports[i].Port)))
		if n := ports[i].NodePort; n > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(int(n)))
		}
		b.WriteByte('/')
		b.WriteString(string(ports[i].Protocol))
	}
	return orElse(b.String(), cellNone)
}
