package service

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api/table"
)

// LoadBalancerCell lists the addresses of a load balancer, each once and sorted.
func LoadBalancerCell(points []string) string {
	points = slices.DeleteFunc(points, func(p string) bool { return p == "" })
	slices.Sort(points)
	return strings.Join(slices.Compact(points), ",")
}

func serviceColumns() []metav1.TableColumnDefinition {
	spec := corev1.ServiceSpec{}
	return []metav1.TableColumnDefinition{
		table.NameColumn(),
		table.TextColumn("Type", table.Doc(spec, "type")),
		table.TextColumn("Cluster-IP", table.Doc(spec, "clusterIP")),
		table.TextColumn("External-IP", table.Doc(spec, "externalIPs")),
		table.TextColumn("Port(s)", table.Doc(spec, "ports")),
		table.AgeColumn(),
		table.Wide(table.TextColumn("Selector", table.Doc(spec, "selector"))),
	}
}

func serviceCells(s *corev1.Service) []any {
	inside := table.CellNone
	if len(s.Spec.ClusterIPs) > 0 {
		inside = s.Spec.ClusterIPs[0]
	}
	return []any{
		s.Name, string(s.Spec.Type), inside, serviceOutside(s), portsCell(s.Spec.Ports), table.Age(s),
		labels.FormatLabels(s.Spec.Selector),
	}
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
