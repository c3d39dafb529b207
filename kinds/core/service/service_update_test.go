package service

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// balancerOf returns a service of type LoadBalancer whose ports have names and node ports.
func balancerOf(allocates bool, names []string, nodePorts ...int32) *corev1.ServiceSpec {
	s := &corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: &allocates}
	for i, name := range names {
		s.Ports = append(s.Ports, corev1.ServicePort{Name: name, Port: int32(80 + i), NodePort: nodePorts[i]})
	}
	return s
}

// TestKeptNodePorts checks which node ports an update keeps that omits them.
func TestKeptNodePorts(t *testing.T) {
	a, ab, ba := []string{"a"}, []string{"a", "b"}, []string{"b", "a"}
	for name, c := range map[string]struct {
		s, old *corev1.ServiceSpec
		want   []int32
	}{
		"omitted":                      {balancerOf(true, a, 0), balancerOf(true, a, 30001), []int32{30001}},
		"in another order":             {balancerOf(true, ba, 0, 0), balancerOf(true, ab, 30001, 30002), []int32{30002, 30001}},
		"one moved":                    {balancerOf(true, ab, 0, 30001), balancerOf(true, ab, 30001, 30002), []int32{0, 30001}},
		"no longer allocated":          {balancerOf(false, a, 0), balancerOf(true, a, 30001), []int32{0}},
		"one no longer allocated":      {balancerOf(false, ab, 0, 30002), balancerOf(true, ab, 30001, 30002), []int32{0, 30002}},
		"named although not allocated": {balancerOf(false, a, 30001), balancerOf(true, a, 30001), []int32{30001}},
	} {
		keepAllocated(c.s, c.old)
		var got []int32
		for _, p := range c.s.Ports {
			got = append(got, p.NodePort)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestKeptAddresses checks the addresses after an update that omits clusterIP or clusterIPs.
func TestKeptAddresses(t *testing.T) {
	both := []string{"10.0.0.1", "fd00::1"}
	for name, c := range map[string]struct {
		ip   string
		ips  []string
		old  corev1.ServiceSpec
		want []string // clusterIP, then clusterIPs
	}{
		"both omitted":        {"", nil, corev1.ServiceSpec{ClusterIP: both[0], ClusterIPs: both}, append([]string{both[0]}, both...)},
		"clusterIP omitted":   {"", both, corev1.ServiceSpec{ClusterIP: both[0], ClusterIPs: both}, append([]string{both[0]}, both...)},
		"clusterIPs omitted":  {both[0], nil, corev1.ServiceSpec{ClusterIP: both[0], ClusterIPs: both}, append([]string{both[0]}, both...)},
		"another clusterIP":   {"10.0.0.2", both, corev1.ServiceSpec{ClusterIP: both[0], ClusterIPs: both}, []string{"10.0.0.2", "10.0.0.2"}},
		"of an external name": {"10.0.0.2", nil, corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}, []string{"10.0.0.2", "10.0.0.2"}},
		"to an external name": {"", both, corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: both[0], ClusterIPs: both}, []string{""}},
	} {
		s := &corev1.ServiceSpec{ClusterIP: c.ip, ClusterIPs: c.ips}
		if name == "to an external name" {
			s.Type = corev1.ServiceTypeExternalName
		}
		keepAllocated(s, &c.old)
		if got := append([]string{s.ClusterIP}, s.ClusterIPs...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
