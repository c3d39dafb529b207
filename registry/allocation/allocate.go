package allocation

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Pools are the addresses and ports from which services are allocated theirs.
type Pools struct {
	// Addresses are the ranges of the default ServiceCIDR, at most one of each IP family. Services have
	// addresses of these families, from the ranges of all ServiceCIDRs.
	Addresses []netip.Prefix
	// FirstPort and LastPort bound the range of node ports.
	FirstPort, LastPort int32
}

// Options configure an Allocator.
type Options struct {
	Gates features.Gates
	Pools Pools
	// Now is the clock.
	Now func() time.Time
}

// Allocator is the registry.Allocator of services.
type Allocator struct {
	r       *registry.Registry
	o       Options
	metrics *metrics
}

// New returns the Allocator of the services in a registry.
func New(r *registry.Registry, o Options) *Allocator {
	a := &Allocator{r: r, o: o}
	a.metrics = newMetrics(a)
	return a
}

// Metrics returns the metrics of allocations and repairs.
func (a *Allocator) Metrics() prometheus.Collector { return a.metrics }

// Allocate implements registry.Allocator.
func (a *Allocator) Allocate(ctx context.Context, obj, old api.Object, dryRun bool) (end func(context.Context, error) error,
	err error) {
	w := &allocation{Allocator: a, dryRun: dryRun}
	stored, _ := old.(*corev1.Service)
	return w.finish, service.Allocate(ctx, a.o.Gates, w, obj.(*corev1.Service), stored)
}

// Release implements registry.Allocator.
func (a *Allocator) Release(ctx context.Context, obj api.Object) error {
	w := &allocation{Allocator: a}
	service.Release(w, obj.(*corev1.Service))
	return w.run(ctx, w.free)
}

// target returns the Target of the objects of a resource.
func (a *Allocator) target(gr schema.GroupResource) (registry.Target, error) {
	res, v, err := a.r.LookupResource(gr)
	return registry.Target{Resource: res, Version: v}, err
}

// allocation implements service.Allocator for one write.
type allocation struct {
	*Allocator
	dryRun bool
	// undo releases the allocations of this write, if it fails. free releases allocations
	// that the object no longer needs, if it succeeds.
	undo, free []func(context.Context) error
	// ports are the node ports of a dry run, which allocates none, and lastPort is the highest.
	ports    map[int32]bool
	lastPort int32
	// rebuildsPorts: a set of node ports that cannot be decoded counts as empty, since the caller adds
	// all ports that are in use; portsUnreadable is set then.
	rebuildsPorts, portsUnreadable bool
}

// finish releases what a failed write allocated, or what a successful one freed; err is the
// error of the write.
func (a *allocation) finish(ctx context.Context, err error) error {
	if err != nil {
		return joinErrors(err, a.run(ctx, a.undo))
	}
	return a.run(ctx, a.free)
}

// run runs all steps, also if the client has disconnected, and returns the first error.
func (a *allocation) run(ctx context.Context, steps []func(context.Context) error) error {
	if a.dryRun {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	var first error
	for _, step := range steps {
		if err := step(ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// joinErrors returns a Status unchanged, so that the client sees why its write failed. The
// repair loop mends what the failed cleanup leaves.
func joinErrors(err, cleanup error) error {
	if _, ok := err.(apierrors.APIStatus); ok || cleanup == nil {
		return err
	}
	return fmt.Errorf("%w (releasing its allocations failed: %w)", err, cleanup)
}

// Families implements service.Allocator.
func (a *allocation) Families() []string {
	var out []string
	for _, p := range a.o.Pools.Addresses {
		out = append(out, service.FamilyOf(p.Addr()))
	}
	return out
}

// errRangeFull reports that all addresses are allocated.
var errRangeFull = errors.New("range is full")

// AllocateIP implements service.Allocator.
func (a *allocation) AllocateIP(ctx context.Context, family string, requested netip.Addr, owner *corev1.Service) (netip.Addr, error) {
	if !slices.Contains(a.Families(), family) {
		return netip.Addr{}, fmt.Errorf("there are no addresses of family %s", family)
	}
	ranges, err := a.readyRanges(ctx, family)
	if err != nil {
		return netip.Addr{}, err
	}
	take, scope, start := a.takeAnyIP, scopeOf(requested.IsValid()), time.Now()
	if requested.IsValid() {
		take = func(ctx context.Context, ranges []netip.Prefix, owner *corev1.Service) (netip.Addr, netip.Prefix, error) {
			return a.takeIP(ctx, ranges, requested, owner)
		}
	}
	ip, used, err := take(ctx, ranges, owner)
	switch {
	case a.dryRun:
	case used.IsValid():
		a.metrics.address(used, scope, start, err)
	case errors.Is(err, errRangeFull):
		for _, full := range ranges {
			a.metrics.address(full, scope, start, err)
		}
	}
	return ip, err
}

// takeIP allocates the requested address from the first of the ranges that contains it, and returns
// that range.
func (a *allocation) takeIP(ctx context.Context, ranges []netip.Prefix, requested netip.Addr,
	owner *corev1.Service) (netip.Addr, netip.Prefix, error) {
	i := slices.IndexFunc(ranges, func(in netip.Prefix) bool { return IsUsable(in, requested) })
	switch {
	case i < 0 && a.dryRun && len(ranges) > 0: // as in kube-apiserver, the message of a dry run names a range
		return requested, netip.Prefix{}, &service.AllocationError{Reason: fmt.Sprintf(
			"the provided IP (%s) is not in the valid range. The range of valid IPs is %s", requested, ranges[0])}
	case i < 0:
		return requested, netip.Prefix{}, &service.AllocationError{Reason: "the provided network does not match the current range"}
	case a.dryRun:
		return requested, ranges[i], nil // as in kube-apiserver, a dry run does not check whether the address is free
	}
	err := a.createAddressObject(ctx, requested, owner)
	if apierrors.IsAlreadyExists(err) {
		err = &service.AllocationError{Reason: "provided IP is already allocated"}
	}
	return requested, ranges[i], err
}

// takeAnyIP allocates an address of one of the ranges, and returns that range.
func (a *allocation) takeAnyIP(ctx context.Context, ranges []netip.Prefix, owner *corev1.Service) (netip.Addr, netip.Prefix, error) {
	for _, in := range ranges {
		if a.dryRun {
			return in.Masked().Addr(), in, nil // the network's address, which is never allocated
		}
		// One read brings the cache up to date: it shall not skip an address that was just released.
		if _, err := a.isAllocated(ctx, in.Masked().Addr(), storage.Read{}); err != nil {
			return netip.Addr{}, in, err
		}
		if ip, err := a.takeAnyIPOf(ctx, in, owner); !errors.Is(err, errRangeFull) {
			return ip, in, err
		}
	}
	return netip.Addr{}, netip.Prefix{}, errRangeFull
}

// takeAnyIPOf allocates an address of a range, trying them from a random one on. The reserved
// addresses come last.
func (a *allocation) takeAnyIPOf(ctx context.Context, in netip.Prefix, owner *corev1.Service) (netip.Addr, error) {
	size, reserved := min(usableAddresses(in), 1<<62), reservedAddresses(in) // the sum below is less than 1<<63
	for _, span := range [][2]int64{{reserved, size}, {0, reserved}} {
		n := span[1] - span[0]
		if n <= 0 {
			continue
		}
		start := rand.Int64N(n)
		for i := range n {
			ip := addressAt(in, span[0]+(start+i)%n)
			allocated, err := a.isAllocated(ctx, ip, storage.Read{Match: storage.Any})
			switch {
			case err != nil:
				return netip.Addr{}, err
			case allocated:
				continue
			}
			if err := a.createAddressObject(ctx, ip, owner); !apierrors.IsAlreadyExists(err) {
				return ip, err
			}
		}
	}
	return netip.Addr{}, errRangeFull
}

// isAllocated reports whether the IPAddress object of an address exists.
func (a *allocation) isAllocated(ctx context.Context, ip netip.Addr, read storage.Read) (bool, error) {
	t, err := a.addresses(ip)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		_, err = a.r.Get(ctx, t, read)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// addresses returns the Target of the IPAddress object of an address.
func (a *allocation) addresses(ip netip.Addr) (registry.Target, error) {
	t, err := a.target(AddressResource())
	t.Name = ip.String()
	return t, err
}

// createAddressObject allocates an address by creating its IPAddress object, which names
// the owner.
func (a *allocation) createAddressObject(ctx context.Context, ip netip.Addr, owner *corev1.Service) error {
	t, err := a.addresses(ip)
	if err != nil {
		return err
	}
	out, err := a.r.Create(ctx, t, AllocatedIPAddress(ip, ServiceResource().Resource, owner), registry.WriteOptions{
		DryRun: a.dryRun, Manager: registry.ServerManager, SkipAdmission: true,
	})
	if err == nil {
		uid := out.Object.GetUID()
		a.undo = append(a.undo, func(ctx context.Context) error { return a.deleteAddressObject(ctx, ip, &uid) })
	}
	return err
}

// deleteAddressObject deletes the IPAddress object of an address. If uid is not nil, it deletes only
// the object with that UID: the address may have been released and allocated again.
func (a *allocation) deleteAddressObject(ctx context.Context, ip netip.Addr, uid *types.UID) error {
	t, err := a.addresses(ip)
	if err != nil {
		return err
	}
	o := registry.DeleteOptions{WriteOptions: registry.WriteOptions{SkipAdmission: true}}
	if uid != nil {
		o.Preconditions = &metav1.Preconditions{UID: uid}
	}
	if _, err = a.r.Delete(ctx, t, o); apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// ReleaseIP implements service.Allocator.
func (a *allocation) ReleaseIP(ip netip.Addr, _ *corev1.Service) {
	a.free = append(a.free, func(ctx context.Context) error { return a.deleteAddressObject(ctx, ip, nil) })
}

// AllocatePort implements service.Allocator.
func (a *allocation) AllocatePort(ctx context.Context, requested int32) (int32, error) {
	if a.dryRun {
		return a.pretendPort(ctx, requested)
	}
	port, err := a.takePort(ctx, requested)
	a.metrics.port(requested != 0, err)
	return port, err
}

// firstDryRunPort is the first node port that a dry run shows, as in kube-apiserver.
const firstDryRunPort = 32769

// pretendPort returns the requested port or, if that is 0, one that shows that the service would have a
// node port. As in kube-apiserver, a dry run does not check the range of a port.
func (a *allocation) pretendPort(ctx context.Context, requested int32) (int32, error) {
	if requested == 0 {
		requested = a.lastPort + 1
		if len(a.ports) == 0 {
			requested = firstDryRunPort
		}
	} else if used, err := a.isPortUsed(ctx, requested); err != nil {
		return 0, err
	} else if used || a.ports[requested] {
		return 0, &service.AllocationError{Reason: "provided port is already allocated"}
	}
	if a.ports == nil {
		a.ports = map[int32]bool{}
	}
	a.ports[requested], a.lastPort = true, max(a.lastPort, requested)
	return requested, nil
}

// isPortUsed reports whether a node port is allocated.
func (a *allocation) isPortUsed(ctx context.Context, port int32) (is bool, err error) {
	first, last := a.o.Pools.FirstPort, a.o.Pools.LastPort
	if port < first || port > last {
		return false, nil
	}
	err = a.changePorts(ctx, func(used *big.Int) error {
		is = used.Bit(int(port-first)) == 1
		return nil
	})
	return is, err
}

// takePort allocates the requested port, or any if that is 0.
func (a *allocation) takePort(ctx context.Context, requested int32) (int32, error) {
	first, last := a.o.Pools.FirstPort, a.o.Pools.LastPort
	if requested != 0 && (requested < first || requested > last) {
		return 0, &service.AllocationError{Reason: fmt.Sprintf(
			"provided port is not in the valid range. The range of valid ports is %d-%d", first, last)}
	}
	var got int32
	err := a.changePorts(ctx, func(used *big.Int) error {
		if requested != 0 {
			if used.Bit(int(requested-first)) == 1 {
				return &service.AllocationError{Reason: "provided port is already allocated"}
			}
			got = requested
		} else if got = a.freePort(used); got == 0 {
			return fmt.Errorf("range is full")
		}
		used.SetBit(used, int(got-first), 1)
		return nil
	})
	if err == nil {
		a.undo = append(a.undo, func(ctx context.Context) error { return a.releasePort(ctx, got) })
	}
	return got, err
}

// freePort returns a random free port, or 0 if there is none.
func (a *allocation) freePort(used *big.Int) int32 {
	first := a.o.Pools.FirstPort
	n := a.o.Pools.LastPort - first + 1
	start := int32(rand.Int64N(int64(n)))
	for i := range n {
		if at := (start + i) % n; used.Bit(int(at)) == 0 {
			return first + at
		}
	}
	return 0
}

// ReleasePort implements service.Allocator.
func (a *allocation) ReleasePort(port int32) {
	a.free = append(a.free, func(ctx context.Context) error { return a.releasePort(ctx, port) })
}

func (a *allocation) releasePort(ctx context.Context, port int32) error {
	return a.changePorts(ctx, func(used *big.Int) error {
		if at := int(port - a.o.Pools.FirstPort); at >= 0 {
			used.SetBit(used, at, 0)
		}
		return nil
	})
}

// changePorts changes the stored set of allocated ports. Bit n of used stands for the port
// FirstPort+n.
func (a *allocation) changePorts(ctx context.Context, change func(used *big.Int) error) error {
	services, err := a.r.FindResource(ServiceResource())
	if err != nil {
		return err
	}
	var written *big.Int
	err = a.r.ChangeValue(ctx, ServiceResource(), PortsKey, func(value []byte) ([]byte, error) {
		written = nil
		used, err := DecodePorts(value)
		if err != nil && !a.rebuildsPorts {
			return nil, err
		}
		if a.portsUnreadable = err != nil; a.portsUnreadable {
			used = new(big.Int)
		}
		before := new(big.Int).Set(used)
		a.metrics.portsSeen(before)
		if err := change(used); err != nil || a.dryRun || used.Cmp(before) == 0 && !a.portsUnreadable {
			return nil, err
		}
		written = used
		return EncodePorts(services.Storage.Encoding, a.o.Pools.FirstPort, a.o.Pools.LastPort, used)
	})
	if err == nil && written != nil {
		a.metrics.portsSeen(written)
	}
	return err
}
