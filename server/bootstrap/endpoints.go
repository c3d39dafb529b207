package bootstrap

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/coldsort"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Each server on a shared etcd has a key below masterLeases, named after its address, which etcd
// removes if the server does not renew it. The keys, the times and the values are those of
// kube-apiserver, so that servers of both kinds count each other.
const (
	masterLeases    = "masterleases"
	masterLeaseTime = 15 * time.Second
)

// RefreshInterval is the interval of Endpoints.Refresh and Lease.Renew, as in kube-apiserver.
const RefreshInterval = 10 * time.Second

// Endpoints maintains the endpoints of the service kubernetes, in an Endpoints object and an
// EndpointSlice: the addresses of all servers on the same etcd.
type Endpoints struct {
	*Publication
	Store *storage.Store
	// Shared means that other servers may use the same etcd. Otherwise this server is the only
	// endpoint.
	Shared bool

	// mu is held while the endpoints are brought up to date. generation counts the renewals.
	mu         sync.Mutex
	generation int64
	withdrawn  bool
}

// Publish brings the endpoints up to date, including their ports. It does nothing if the server cannot
// be reached from other machines.
func (e *Endpoints) Publish(ctx context.Context) error { return e.reconcile(ctx, true) }

// Refresh renews the key of this server and brings the addresses of the endpoints up to date. The caller
// calls it every RefreshInterval. It does nothing if no other server uses the etcd.
func (e *Endpoints) Refresh(ctx context.Context) error {
	if !e.Shared {
		return nil
	}
	return e.reconcile(ctx, false)
}

// Withdraw removes this server from the endpoints. Publish and Refresh have no effect afterwards.
func (e *Endpoints) Withdraw(ctx context.Context) error {
	if !e.Shared || !e.Advertise.IsValid() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.withdrawn = true
	if err := e.Store.RemoveValue(ctx, masterLeases+"/"+e.Advertise.String()); err != nil {
		return err
	}
	return e.write(ctx, false)
}

func (e *Endpoints) reconcile(ctx context.Context, ports bool) error {
	if !e.Advertise.IsValid() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.withdrawn {
		return nil
	}
	if e.Shared {
		if err := e.renew(ctx); err != nil {
			return err
		}
	}
	return e.write(ctx, ports)
}

// renew writes the key of this server.
func (e *Endpoints) renew(ctx context.Context) error {
	t, err := e.target(corev1.SchemeGroupVersion, "endpoints")
	if err != nil {
		return err
	}
	e.generation++
	value, err := t.Resource.EncodeStored(&corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Generation: e.generation},
		Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: e.Advertise.String()}}}},
	})
	if err != nil {
		return err
	}
	return e.Store.SetLeased(ctx, masterLeases+"/"+e.Advertise.String(), value, masterLeaseTime)
}

// servers returns the addresses of the servers, in order.
func (e *Endpoints) servers(ctx context.Context) ([]netip.Addr, error) {
	if !e.Shared {
		return []netip.Addr{e.Advertise}, nil
	}
	leases, err := e.Store.Values(ctx, masterLeases)
	if err != nil {
		return nil, err
	}
	if e.withdrawn {
		return leaseHolders(leases), nil
	}
	return leaseHolders(leases, e.Advertise), nil
}

// leaseHolders returns the addresses that the keys of leases name and those in also, in order, each
// once. also has the address of this server: another server that was started with the same address may
// have withdrawn their common key since this one renewed it.
func leaseHolders(leases map[string][]byte, also ...netip.Addr) []netip.Addr {
	servers := also
	for name := range leases {
		if ip, err := netip.ParseAddr(name); err == nil {
			servers = append(servers, ip)
		}
	}
	coldsort.Func(servers, netip.Addr.Compare)
	return slices.Compact(servers)
}

// write updates the two objects. The ports of existing ones are changed only if ports is true, since
// other servers may have others.
func (e *Endpoints) write(ctx context.Context, ports bool) error {
	servers, err := e.servers(ctx)
	if err != nil {
		return err
	}
	var subset corev1.EndpointSubset
	if subset, err = e.writeEndpoints(ctx, servers, ports); err != nil {
		return fmt.Errorf("endpoints %s: %w", serviceName, err)
	}
	if err := e.writeSlice(ctx, subset); err != nil {
		return fmt.Errorf("endpointslices %s: %w", serviceName, err)
	}
	return nil
}

// writeEndpoints updates the Endpoints object, and returns its subset.
func (e *Endpoints) writeEndpoints(ctx context.Context, servers []netip.Addr, ports bool) (corev1.EndpointSubset, error) {
	want := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: e.Port, Protocol: corev1.ProtocolTCP}}}
	for _, ip := range servers {
		want.Addresses = append(want.Addresses, corev1.EndpointAddress{IP: ip.String()})
	}
	err := e.put(ctx, corev1.SchemeGroupVersion, "endpoints", &corev1.Endpoints{ObjectMeta: serviceMeta()}, func(obj api.Object) {
		o := obj.(*corev1.Endpoints)
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[discoveryv1.LabelSkipMirror] = "true"
		if len(o.Subsets) == 1 && len(o.Subsets[0].Ports) > 0 && !ports {
			want.Ports = o.Subsets[0].Ports
		}
		o.Subsets = []corev1.EndpointSubset{want}
		if len(servers) == 0 {
			o.Subsets = nil
		}
	})
	return want, err
}

// writeSlice makes the EndpointSlice equal to the subset of the Endpoints object.
func (e *Endpoints) writeSlice(ctx context.Context, subset corev1.EndpointSubset) error {
	addressType := discoveryv1.AddressTypeIPv4
	if e.Advertise.Is6() {
		addressType = discoveryv1.AddressTypeIPv6
	}
	if err := e.deleteSliceOfOtherType(ctx, addressType); err != nil {
		return err
	}
	return e.put(ctx, discoveryv1.SchemeGroupVersion, "endpointslices", &discoveryv1.EndpointSlice{ObjectMeta: serviceMeta(), AddressType: addressType}, func(obj api.Object) {
		o := obj.(*discoveryv1.EndpointSlice)
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[discoveryv1.LabelServiceName] = serviceName
		o.Endpoints, o.Ports = nil, nil
		for _, a := range subset.Addresses {
			isReady := true
			o.Endpoints = append(o.Endpoints,
				discoveryv1.Endpoint{Addresses: []string{a.IP},
					Conditions: discoveryv1.EndpointConditions{Ready: &isReady}})
		}
		for _, p := range subset.Ports {
			o.Ports = append(o.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol})
		}
	})
}

// deleteSliceOfOtherType deletes a slice of another type of addresses, which cannot be changed.
func (e *Endpoints) deleteSliceOfOtherType(ctx context.Context, want discoveryv1.AddressType) error {
	t, err := e.target(discoveryv1.SchemeGroupVersion, "endpointslices")
	if err != nil {
		return err
	}
	t.Namespace, t.Name = metav1.NamespaceDefault, serviceName
	item, err := e.Registry.Get(ctx, t, storage.Read{Match: storage.Any})
	if err != nil {
		return nil // there is none, or put reports the error
	}
	current, err := item.Object()
	if err != nil || current.(*discoveryv1.EndpointSlice).AddressType == want {
		return err
	}
	_, err = e.Registry.Delete(ctx, t, registry.DeleteOptions{Preconditions: reconcile.Unchanged(current)})
	return reconcile.IgnoreDeleted(err) // put reports a slice that still has another type
}
