package bootstrap

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// serviceName is the name of the service of the API, and of its endpoints and service addresses.
const serviceName = "kubernetes"

// ServicePort is the port of that service.
const ServicePort = 443

// rangesManager is the field manager of the status of the ServiceCIDR.
const rangesManager = "kubernetes-service-cidr-controller"

// Publish creates the missing objects by which the cluster finds the server. It does not change existing ones, which may belong
// to another server or be customized, except for a ServiceCIDR that lacks the range of the second IP family. The caller calls it
// every RefreshInterval, because these objects can be deleted.
func (p *Publication) Publish(ctx context.Context) error {
	if err := p.publishRanges(ctx); err != nil {
		return err
	}
	singleStack := corev1.IPFamilyPolicySingleStack
	service := &corev1.Service{ObjectMeta: serviceMeta(), Spec: corev1.ServiceSpec{
		ClusterIP: p.Ranges[0].Masked().Addr().Next().String(), IPFamilyPolicy: &singleStack,
		Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
		Ports: []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: ServicePort, TargetPort: intstr.FromInt32(p.Port)}},
	}}
	if p.NodePort != 0 {
		service.Spec.Type, service.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, p.NodePort
	}
	service.Labels = map[string]string{"provider": serviceName, "component": "apiserver"}
	return p.createService(ctx, service)
}

// Times of createService.
const (
	// addressTimeout is the time to wait for an address that is allocated. It exceeds the time
	// after which a Repairer releases an address without a service.
	addressTimeout = 90 * time.Second
	addressPause   = 50 * time.Millisecond
)

// createService creates the service unless it exists. A server allocates the address before it
// stores the service, so the address is allocated without a service while another server creates
// it, and after a server died in between. createService waits until the service is stored or the
// address is released. If the address is in no ServiceCIDR, which happens if the ranges of the server were changed, there is no
// service until an administrator adds such a ServiceCIDR.
func (p *Publication) createService(ctx context.Context, service *corev1.Service) error {
	repairer := p.Allocator.NewRepairer(p.Logger)
	for began := time.Now(); ; {
		_, err := p.createMissing(ctx, corev1.SchemeGroupVersion, "services", service.DeepCopy())
		if !apierrors.IsInvalid(err) || time.Since(began) > addressTimeout {
			return err
		}
		ip := netip.MustParseAddr(service.Spec.ClusterIP)
		switch canAllocate, err := p.Allocator.CanAllocate(ctx, ip); {
		case err != nil:
			return err
		case !canAllocate:
			p.Logger.Warn("the address of the service is in no ServiceCIDR that is ready", "service", serviceName, "address", ip)
			return nil
		}
		if holder, err := p.serviceWithAddress(ctx, service.Spec.ClusterIP); err != nil || holder != "" {
			p.Logger.Error("another service has the address of the service", "service", serviceName, "address", ip, "holder", holder, "error", err)
			return err
		}
		p.Logger.Info("the address of the service is allocated, waiting for the service", "service", serviceName, "error", err)
		if err := repairer.Repair(ctx); err != nil {
			return fmt.Errorf("repairing allocations: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(addressPause):
		}
	}
}

// serviceWithAddress returns the namespace and name of the service with a cluster address; empty if there is
// none. Whoever may write services in a namespace can take the address while the service kubernetes does not
// exist. Waiting for it would delay the start.
func (p *Publication) serviceWithAddress(ctx context.Context, address string) (string, error) {
	t, err := p.target(corev1.SchemeGroupVersion, "services")
	if err != nil {
		return "", err
	}
	list, err := p.Registry.List(ctx, t, registry.ListOptions{Read: storage.Read{}})
	if err != nil {
		return "", err
	}
	for _, item := range list.Items {
		if obj, err := item.Object(); err == nil && slices.Contains(obj.(*corev1.Service).Spec.ClusterIPs, address) {
			return item.Key(), nil
		}
	}
	return "", nil
}

func (p *Publication) target(gv schema.GroupVersion, resource string) (registry.Target, error) {
	res, err := p.Registry.FindResource(gv.WithResource(resource).GroupResource())
	if err != nil {
		return registry.Target{}, err
	}
	return registry.Target{Resource: res, Version: res.Version(gv)}, nil
}

// serviceMeta returns the name and namespace of the service of the API, and of its endpoints.
func serviceMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: serviceName, Namespace: metav1.NamespaceDefault}
}

// put changes the object with the name and namespace of empty, or creates it from empty. It writes
// nothing if the change leaves the object as it is. If the object is deleted meanwhile, the next call
// creates it. It replaces an object that cannot be decoded.
func (p *Publication) put(ctx context.Context, gv schema.GroupVersion, resource string, empty api.Object, change func(api.Object)) error {
	t, err := p.target(gv, resource)
	if err != nil {
		return err
	}
	t.Namespace, t.Name = empty.GetNamespace(), empty.GetName()
	item, err := p.Registry.Get(ctx, t, storage.Read{})
	if err == nil && item.Corrupt() != nil {
		if _, err := p.Registry.RemoveUnreadable(ctx, t, p.Logger); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		err = item.Corrupt()
	}
	if err != nil {
		change(empty)
		if created, err := p.createMissing(ctx, gv, resource, empty); err != nil || created {
			return err
		}
	} else {
		current, err := item.Object()
		if err != nil {
			return err
		}
		changed := current.DeepCopyObject().(api.Object)
		if change(changed); equality.Semantic.DeepEqual(current, changed) {
			return nil
		}
	}
	_, err = p.Registry.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		change(old)
		return old, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: reconcile.ServerManager}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// createMissing creates an object unless it exists, and reports whether it did.
func (p *Publication) createMissing(ctx context.Context, gv schema.GroupVersion, resource string, obj api.Object) (bool, error) {
	t, err := p.target(gv, resource)
	if err != nil {
		return false, err
	}
	t.Namespace, t.Name = obj.GetNamespace(), obj.GetName()
	if _, err := p.Registry.Get(ctx, t, storage.Read{}); err == nil {
		return false, nil
	}
	if t.Resource.Default != nil {
		t.Resource.Default(obj)
	}
	_, err = p.Registry.Create(ctx, t, obj, registry.WriteOptions{Manager: reconcile.ServerManager})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", resource, obj.GetName(), err)
	}
	return true, nil
}

// publishRanges creates the ServiceCIDR of the ranges, and declares that it is ready.
func (p *Publication) publishRanges(ctx context.Context) error {
	var ranges []string
	for _, r := range p.Ranges {
		ranges = append(ranges, r.String())
	}
	empty := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: serviceName}}
	err := p.put(ctx, networkingv1.SchemeGroupVersion, "servicecidrs", empty, func(obj api.Object) {
		if cidr := obj.(*networkingv1.ServiceCIDR); len(cidr.Spec.CIDRs) < len(ranges) &&
			slices.Equal(cidr.Spec.CIDRs, ranges[:len(cidr.Spec.CIDRs)]) {
			cidr.Spec.CIDRs = ranges
		}
	})
	if err != nil {
		return err
	}
	if err = p.applyReady(ctx, ranges); apierrors.IsNotFound(err) {
		return nil // deleted meanwhile; the next call creates it
	}
	return err
}

// applyReady sets the condition Ready of the ServiceCIDR, unless it has one or has other ranges.
func (p *Publication) applyReady(ctx context.Context, ranges []string) error {
	t, err := p.target(networkingv1.SchemeGroupVersion, "servicecidrs")
	if err != nil {
		return err
	}
	t.Name, t.Status = serviceName, true
	item, err := p.Registry.Get(ctx, t, storage.Read{})
	if err != nil {
		return err
	}
	obj, err := item.Object()
	if err != nil {
		return err
	}
	cidr := obj.(*networkingv1.ServiceCIDR)
	ready := meta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if !cidr.DeletionTimestamp.IsZero() || !slices.Equal(cidr.Spec.CIDRs, ranges) || ready != nil && ready.Status != metav1.ConditionUnknown {
		return nil
	}
	_, err = p.Registry.Apply(ctx, t, map[string]any{
		"apiVersion": networkingv1.SchemeGroupVersion.String(), "kind": "ServiceCIDR", "metadata": map[string]any{"name": serviceName},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": networkingv1.ServiceCIDRConditionReady, "status": string(metav1.ConditionTrue),
			"message": "Kubernetes default Service CIDR is ready", "lastTransitionTime": p.Now().UTC().Format(time.RFC3339),
		}}},
	}, registry.ApplyOptions{WriteOptions: registry.WriteOptions{Manager: rangesManager}, Force: true})
	return err
}

// AdvertiseAddress returns the address at which other machines reach a server that is bound
// to bind. It is invalid if there is none.
func AdvertiseAddress(bind net.IP) netip.Addr {
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
