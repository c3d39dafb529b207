package sandbox

import (
	"context"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestAddresses checks that Services of type LoadBalancer and Ingresses get addresses.
func TestAddresses(t *testing.T) {
	s := Start(t, Options{})
	services := s.Client.CoreV1().Services("default")
	other := "example.com/other"
	for name, spec := range map[string]corev1.ServiceSpec{
		"a":         {},
		"b":         {},
		"requested": {LoadBalancerIP: "198.51.100.7"},
		"other":     {LoadBalancerClass: &other},
	} {
		spec.Type, spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 80}}
		if _, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	path := networkingv1.PathTypePrefix
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
			Path: "/", PathType: &path, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "a", Port: networkingv1.ServiceBackendPort{Number: 80}}},
		}}}},
	}}}}
	if _, err := s.Client.NetworkingV1().Ingresses("default").Create(t.Context(), ingress, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	addresses := map[string]string{}
	for _, name := range []string{"a", "b", "requested"} {
		eventually(t, "Service "+name+" has an address", func(ctx context.Context) (bool, error) {
			service, err := services.Get(ctx, name, metav1.GetOptions{})
			if err != nil || len(service.Status.LoadBalancer.Ingress) == 0 {
				return false, err
			}
			addresses[name] = service.Status.LoadBalancer.Ingress[0].IP
			return true, nil
		})
	}
	eventually(t, "the Ingress has an address", func(ctx context.Context) (bool, error) {
		i, err := s.Client.NetworkingV1().Ingresses("default").Get(ctx, "a", metav1.GetOptions{})
		if err != nil || len(i.Status.LoadBalancer.Ingress) == 0 {
			return false, err
		}
		addresses["ingress"] = i.Status.LoadBalancer.Ingress[0].IP
		return true, nil
	})
	reserved := netip.MustParsePrefix("240.0.0.0/4")
	seen := map[string]bool{}
	for name, address := range addresses {
		isService := name == "a" || name == "b"
		if ip, err := netip.ParseAddr(address); err != nil || isService && !reserved.Contains(ip) || seen[address] {
			t.Errorf("%s has %s, %v", name, address, err)
		}
		seen[address] = true
	}
	if addresses["requested"] != "198.51.100.7" {
		t.Errorf("got %v", addresses)
	}
	// The stages have played for Services that are as old.
	if service, err := services.Get(t.Context(), "other", metav1.GetOptions{}); err != nil || len(service.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("a Service of another class has %v, %v", service.Status.LoadBalancer, err)
	}
	if _, err := services.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"type":"ClusterIP"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the address is gone", func(ctx context.Context) (bool, error) {
		service, err := services.Get(ctx, "a", metav1.GetOptions{})
		return err == nil && len(service.Status.LoadBalancer.Ingress) == 0, err
	})
}
