package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/apiservices"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// apiService is the name of the service of the API, and of its endpoints and service
// addresses.
const apiService = "kubernetes"

// apiServicePort is the port of that service.
const apiServicePort = 443

// ownManager is the field manager of the server's own writes.
const ownManager = "kube-apiserver"

// publication creates the objects by which a cluster finds the server: the service
// kubernetes, its endpoints, and the ServiceCIDR.
type publication struct {
	catalogue *api.Catalogue
	registry  *registry.Registry
	ranges    []netip.Prefix
	advertise netip.Addr
	port      int32
	trust     apiservices.Trust
	gates     features.Gates
	// servicePort is the node port of the service, or 0. noEndpoints means that another
	// program maintains the endpoints of the service.
	servicePort int32
	noEndpoints bool
	// kubeletClient means that the server presents a generated certificate to kubelets.
	kubeletClient bool
	now           func() time.Time
}

// buildPublication describes the addresses of this server for the cluster.
func (p *parts) buildPublication() (err error) {
	p.trust = newTrust(&p.o, p.own)
	p.publication = &publication{
		catalogue: p.catalogue, registry: p.reg,
		ranges: p.o.pools().Addresses, advertise: advertiseAddress(net.ParseIP(cmp.Or(p.o.AdvertiseAddress, p.o.BindAddress))),
		servicePort: int32(p.o.ServiceNodePort), noEndpoints: p.o.EndpointReconciler == "none",
		port: int32(p.secure.Addr().(*net.TCPAddr).Port), trust: p.trust, gates: p.gates,
		kubeletClient: p.o.KubeletCertFile == "" && !p.o.NoDataDir, now: time.Now,
	}
	if p.lease, err = newIdentity(p.publication, p.logger); err != nil {
		return fmt.Errorf("the server's lease: %w", err)
	}
	return nil
}

// publish creates the missing objects. It does not change existing ones, which may belong
// to another server or be customized.
func (p *publication) publish(ctx context.Context) error {
	ready := metav1.Condition{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue, Reason: "",
		Message: "Kubernetes default Service CIDR is ready", LastTransitionTime: metav1.NewTime(p.now()).Rfc3339Copy(),
	}
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: apiService}}
	for _, r := range p.ranges {
		cidr.Spec.CIDRs = append(cidr.Spec.CIDRs, r.String())
	}
	created, err := p.createMissing(ctx, networkingv1.SchemeGroupVersion, "servicecidrs", cidr)
	if err == nil && created {
		err = p.setReady(ctx, ready)
	}
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: apiService, Namespace: metav1.NamespaceDefault}
	service := &corev1.Service{ObjectMeta: *meta.DeepCopy(), Spec: corev1.ServiceSpec{
		ClusterIP: p.ranges[0].Masked().Addr().Next().String(),
		Type:      corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
		Ports: []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: apiServicePort, TargetPort: intstr.FromInt32(p.port)}},
	}}
	if p.servicePort != 0 {
		service.Spec.Type, service.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, p.servicePort
	}
	service.Labels = map[string]string{"provider": apiService, "component": "apiserver"}
	if _, err := p.createMissing(ctx, corev1.SchemeGroupVersion, "services", service); err != nil {
		return err
	}
	return p.publishEndpoints(ctx, meta)
}

// publishEndpoints creates the endpoints of the service, unless the server can be reached
// only from its own machine.
func (p *publication) publishEndpoints(ctx context.Context, meta metav1.ObjectMeta) error {
	if !p.advertise.IsValid() || p.noEndpoints {
		return nil
	}
	ip := p.advertise.String()
	endpoints := &corev1.Endpoints{ObjectMeta: *meta.DeepCopy(), Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: ip}},
		Ports:     []corev1.EndpointPort{{Name: "https", Port: p.port, Protocol: corev1.ProtocolTCP}},
	}}}
	endpoints.Labels = map[string]string{"endpointslice.kubernetes.io/skip-mirror": "true"}
	if _, err := p.createMissing(ctx, corev1.SchemeGroupVersion, "endpoints", endpoints); err != nil {
		return err
	}
	name, protocol, isReady := "https", corev1.ProtocolTCP, true
	slice := &discoveryv1.EndpointSlice{ObjectMeta: *meta.DeepCopy(), AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: &isReady}}},
		Ports:     []discoveryv1.EndpointPort{{Name: &name, Port: &p.port, Protocol: &protocol}},
	}
	if p.advertise.Is6() {
		slice.AddressType = discoveryv1.AddressTypeIPv6
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: apiService}
	_, err := p.createMissing(ctx, discoveryv1.SchemeGroupVersion, "endpointslices", slice)
	return err
}

func (p *publication) target(gv schema.GroupVersion, resource string) (registry.Target, error) {
	res, v, ok := findResource(p.catalogue, gv, resource)
	if !ok {
		return registry.Target{}, fmt.Errorf("the catalogue has no %s", resource)
	}
	return registry.Target{Resource: res, Version: v}, nil
}

// createMissing creates an object unless it exists, and reports whether it did.
func (p *publication) createMissing(ctx context.Context, gv schema.GroupVersion, resource string, obj api.Object) (bool, error) {
	t, err := p.target(gv, resource)
	if err != nil {
		return false, err
	}
	t.Namespace, t.Name = obj.GetNamespace(), obj.GetName()
	if _, err := p.registry.Get(ctx, t, storage.Read{Match: storage.Any}); err == nil {
		return false, nil
	}
	if t.Resource.Default != nil {
		t.Resource.Default(obj)
	}
	_, err = p.registry.Create(ctx, t, obj, registry.WriteOptions{Manager: ownManager})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", resource, obj.GetName(), err)
	}
	return true, nil
}

func (p *publication) setReady(ctx context.Context, ready metav1.Condition) error {
	t, err := p.target(networkingv1.SchemeGroupVersion, "servicecidrs")
	if err != nil {
		return err
	}
	t.Name, t.Status = apiService, true
	_, err = p.registry.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		cidr := old.(*networkingv1.ServiceCIDR)
		cidr.Status.Conditions = []metav1.Condition{ready}
		return cidr, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: ownManager}, SkipStrategy: true})
	return err
}

// advertiseAddress returns the address at which other machines reach a server that is bound
// to bind. It is invalid if there is none.
func advertiseAddress(bind net.IP) netip.Addr {
	// Unmap comes first: an IPv4 address in the form of IPv6 is never unspecified.
	if ip, _ := netip.AddrFromSlice(bind); ip.IsValid() && !ip.Unmap().IsLoopback() && !ip.Unmap().IsUnspecified() {
		return ip.Unmap()
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap().IsGlobalUnicast() {
				return ip.Unmap()
			}
		}
	}
	return netip.Addr{}
}
