package services

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/registry"
)

// newResolver returns a resolver of a registry with a service of each type, named after the
// type, with port 443. The service "ready" has an endpoint.
func newResolver(t *testing.T) *Resolver {
	t.Helper()
	catalogue := registrytest.Catalogue(t)
	reg := registrytest.New(t, catalogue, registry.Options{})
	var initial []registry.InitialObject
	add := func(gr schema.GroupResource, obj api.Object) {
		res, err := reg.FindResource(gr)
		if err != nil {
			t.Fatal(err)
		}
		initial = append(initial, registry.InitialObject{Resource: res, Object: obj})
	}
	service := func(name string, spec corev1.ServiceSpec) {
		spec.Ports = []corev1.ServicePort{{Name: "https", Port: 443}}
		if spec.Type == corev1.ServiceTypeExternalName {
			spec.Ports = nil
		}
		add(corev1.Resource("services"), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: spec})
	}
	service("ready", corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"}})
	service("only-other", corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, ClusterIP: "10.0.0.3", ClusterIPs: []string{"10.0.0.3"}})
	service("idle", corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, ClusterIP: "10.0.0.2", ClusterIPs: []string{"10.0.0.2"}})
	service("headless", corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, ClusterIP: "None", ClusterIPs: []string{"None"}})
	service("external", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "host.test"})
	name, port, other, yes, no := "https", int32(8443), int32(9), true, false
	add(schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Name: "ready-1", Labels: map[string]string{discoveryv1.LabelServiceName: "ready"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}, {Name: new(string), Port: &other}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.1.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &no}},
			{Addresses: []string{"10.1.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &yes}},
		},
	})
	for _, dual := range []struct {
		service string
		family  discoveryv1.AddressType
		address string
	}{{"ready", discoveryv1.AddressTypeIPv6, "fd00::1"}, {"only-other", discoveryv1.AddressTypeIPv6, "fd00::2"}} {
		add(schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}, &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Name: dual.service + "-6", Labels: map[string]string{discoveryv1.LabelServiceName: dual.service}},
			AddressType: dual.family,
			Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{dual.address}}},
		})
	}
	if err := reg.CreateMissing(t.Context(), initial, "test"); err != nil {
		t.Fatal(err)
	}
	return &Resolver{Registry: reg}
}

// TestResolve checks the addresses and the errors for each type of service.
func TestResolve(t *testing.T) {
	r := newResolver(t)
	for _, c := range []struct {
		name      string
		port      int32
		endpoints bool
		want      outbound.Address
		wantErr   string
	}{
		{"ready", 443, false, outbound.Address{Host: "10.0.0.1:443", Dial: "10.1.0.2:8443"}, ""},
		{"ready", 443, true, outbound.Address{Host: "10.1.0.2:8443", Dial: "10.1.0.2:8443"}, ""},
		{"only-other", 443, true, outbound.Address{Host: "[fd00::2]:8443", Dial: "[fd00::2]:8443"}, ""},
		{"ready", 80, false, outbound.Address{}, `no service port 80 found for service "ready"`},
		{"idle", 443, false, outbound.Address{Host: "10.0.0.2:443", Dial: "10.0.0.2:443"}, ""},
		{"idle", 443, true, outbound.Address{}, `no endpoints available for service "idle"`},
		{"headless", 443, false, outbound.Address{}, `cannot route to service with ClusterIP "None"`},
		{"headless", 443, true, outbound.Address{}, `no endpoints available for service "headless"`},
		{"external", 443, false, outbound.Address{Host: "host.test:443", Dial: "host.test:443"}, ""},
		{"external", 443, true, outbound.Address{}, `unsupported service type "ExternalName"`},
		{"missing", 443, false, outbound.Address{}, `service "missing" not found`},
	} {
		r.Endpoints = c.endpoints
		got, err := r.Resolve(t.Context(), outbound.Service{Namespace: "ns", Name: c.name, Port: c.port})
		if got != c.want || (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
			t.Errorf("%s:%d, endpoints %t: got %+v, %v", c.name, c.port, c.endpoints, got, err)
		}
	}
}
