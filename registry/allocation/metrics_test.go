package allocation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDryRunPorts checks that a dry run shows ports that are not in the range, and refuses allocated
// ones only.
func TestDryRunPorts(t *testing.T) {
	r, p, _ := allocating(t)
	repair(t, p)
	used := nodePortService(t, r, "stored").Spec.Ports[0].NodePort
	a := &allocation{Allocator: r.allocator, dryRun: true}
	for _, c := range []struct{ requested, want int32 }{{0, 32769}, {0, 32770}, {used, 0}, {5, 5}, {5, 0}, {70000, 70000}, {0, 70001}} {
		if got, err := a.AllocatePort(t.Context(), c.requested); got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%d: got %d, %v, want %d", c.requested, got, err, c.want)
		}
	}
	if ports := takenPorts(t, r); len(ports) != 1 {
		t.Errorf("allocated %v", ports)
	}
}

// TestAllocationMetrics checks what allocations, failed ones and releases count. A dry run counts
// nothing.
func TestAllocationMetrics(t *testing.T) {
	r, p, _ := allocating(t)
	repair(t, p)
	nodePortService(t, r, "dynamic")
	service := func(name, ip string, port int32, o registry.WriteOptions) error {
		at := r.service(t, name)
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80, NodePort: port}}}}
		at.Resource.Default(svc)
		_, err := r.Create(t.Context(), at, svc, o)
		return err
	}
	if err := service("static", "10.0.0.1", 30000, registry.WriteOptions{}); err != nil {
		t.Log(err) // the port may be that of the first service
		if err := service("static", "10.0.0.1", 30001, registry.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := service("again", "10.0.0.1", 0, registry.WriteOptions{}); err == nil {
		t.Error("allocated an address twice")
	}
	if err := service("dry", "", 0, registry.WriteOptions{DryRun: true}); err != nil {
		t.Error(err)
	}
	at := r.service(t, "dynamic")
	if _, err := r.Delete(t.Context(), at, registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(r.allocator.metrics); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			fmt.Fprint(&b, f.GetName())
			for _, l := range m.GetLabel() {
				fmt.Fprintf(&b, " %s=%s", l.GetName(), l.GetValue())
			}
			fmt.Fprintln(&b, "", m.GetCounter().GetValue()+m.GetGauge().GetValue()+float64(m.GetHistogram().GetSampleCount()))
		}
	}
	for _, want := range []string{
		"kube_apiserver_clusterip_allocator_allocation_total cidr=10.0.0.0/24 scope=dynamic 1\n",
		"kube_apiserver_clusterip_allocator_allocation_errors_total cidr=10.0.0.0/24 scope=static 1\n",
		"kube_apiserver_clusterip_allocator_allocated_ips cidr=10.0.0.0/24 1\n",
		"kube_apiserver_clusterip_allocator_available_ips cidr=10.0.0.0/24 253\n",
		"kube_apiserver_nodeport_allocator_allocation_total scope=dynamic 2\n", // one of them released again
		"kube_apiserver_nodeport_allocator_allocation_total scope=static 1\n",
		"kube_apiserver_nodeport_allocator_allocated_ports 1\n",
		"kube_apiserver_nodeport_allocator_available_ports 100\n",
		"apiserver_nodeport_repair_reconcile_errors_total 0\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s in\n%s", want, b.String())
		}
	}
}
