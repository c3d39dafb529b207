package service

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api/table"
)

// LoadBalancerCell lists the addresses of a load balancer, each once and sorted.
func LoadBalancerCell(points []string) string {
	points = slices.DeleteFunc(points, func(p string) bool { return p == "" })
	slices.Sort(points)
	return strings.Join(slices.Compact(points), ",")
}

func serviceRow(row *table.Row, s *corev1.Service) {
	inside := table.CellNone
	if len(s.Spec.ClusterIPs) > 0 {
		inside = s.Spec.ClusterIPs[0]
	}
	row.Name(s.Name)
	row.Text("Type", ".spec.type", string(s.Spec.Type))
	row.Text("Cluster-IP", ".spec.clusterIP", inside)
	row.Text("External-IP", ".spec.externalIPs", serviceOutside(s))
	row.Text("Port(s)", ".spec.ports", portsCell(s.Spec.Ports))
	row.Age(s)
	row.Wide().Text("Selector", ".spec.selector", labels.FormatLabels(s.Spec.Selector))
}

// serviceOutside returns the cell EXTERNAL-IP.
func serviceOutside(s *corev1.Service) string {
	external := strings.Join(s.Spec.ExternalIPs, ",")
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(external, table.CellNone)
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		points := make([]string, 0, len(s.Status.LoadBalancer.Ingress))
		for _, p := range s.Status.LoadBalancer.Ingress {
			points = append(points, cmp.Or(p.IP, p.Hostname))
		}
		balancer := LoadBalancerCell(points)
		if balancer != "" && external != "" {
			return balancer + "," + external
		}
		return cmp.Or(balancer+external, "<pending>")
	}
	return table.CellUnknown
}

// portsCell returns ports as "80/TCP", or "80:30080/TCP" with a node port.
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
	return cmp.Or(b.String(), table.CellNone)
}
