package registry

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
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

// ownManager is the field manager of the server's own writes.
const ownManager = "kube-apiserver"

// allocation implements api.Allocator for one write.
type allocation struct {
	r      *Registry
	t      Target
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

// release releases the allocations of a deleted object.
func (r *Registry) release(ctx context.Context, t Target, obj api.Object) error {
	if t.Resource.Delete.Release == nil {
		return nil
	}
	a := &allocation{r: r, t: t}
	t.Resource.Delete.Release(a, obj)
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

// Families implements api.Allocator.
func (a *allocation) Families() []string {
	var out []string
	for _, p := range a.r.o.Pools.Addresses {
		out = append(out, api.FamilyOf(p.Addr()))
	}
	return out
}

// errRangeFull reports that all addresses are allocated.
var errRangeFull = errors.New("range is full")

// AllocateIP implements api.Allocator.
func (a *allocation) AllocateIP(ctx context.Context, family string, requested netip.Addr, owner api.Object) (netip.Addr, error) {
	if !slices.Contains(a.Families(), family) {
		return netip.Addr{}, fmt.Errorf("there are no addresses of family %s", family)
	}
	ranges, err := a.r.readyRanges(ctx, family)
	if err != nil {
		return netip.Addr{}, err
	}
	take, scope, start := a.takeAnyIP, scopeOf(requested.IsValid()), time.Now()
	if requested.IsValid() {
		take = func(ctx context.Context, ranges []netip.Prefix, owner api.Object) (netip.Addr, netip.Prefix, error) {
			return a.takeIP(ctx, ranges, requested, owner)
		}
	}
	ip, used, err := take(ctx, ranges, owner)
	switch {
	case a.dryRun:
	case used.IsValid():
		a.r.allocations.address(used, scope, start, err)
	case errors.Is(err, errRangeFull):
		for _, full := range ranges {
			a.r.allocations.address(full, scope, start, err)
		}
	}
	return ip, err
}

// takeIP allocates the requested address from the first of the ranges that contains it, and returns
// that range.
func (a *allocation) takeIP(ctx context.Context, ranges []netip.Prefix, requested netip.Addr,
	owner api.Object) (netip.Addr, netip.Prefix, error) {
	i := slices.IndexFunc(ranges, func(in netip.Prefix) bool { return IsUsable(in, requested) })
	switch {
	case i < 0 && a.dryRun && len(ranges) > 0: // as in kube-apiserver, the message of a dry run names a range
		return requested, netip.Prefix{},
			&api.AllocationError{Reason: fmt.Sprintf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s",
				requested, ranges[0])}
	case i < 0:
		return requested, netip.Prefix{}, &api.AllocationError{Reason: "the provided network does not match the current range"}
	case a.dryRun:
		return requested, ranges[i], nil // as in kube-apiserver, a dry run does not check whether the address is free
	}
	err := a.createAddressObject(ctx, requested, owner)
	if apierrors.IsAlreadyExists(err) {
		err = &api.AllocationError{Reason: "provided IP is already allocated"}
	}
	return requested, ranges[i], err
}

// takeAnyIP allocates an address of one of the ranges, and returns that range.
func (a *allocation) takeAnyIP(ctx context.Context, ranges []netip.Prefix, owner api.Object) (netip.Addr, netip.Prefix, error) {
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
func (a *allocation) takeAnyIPOf(ctx context.Context, in netip.Prefix, owner api.Object) (netip.Addr, error) {
	size, reserved := min(usableAddresses(in), 1<<62), reservedAddresses(in) // the sum below is less than 1<<63
	for _, span := range [][2]int64{{reserved, size}, {0, reserved}} {
		n := span[1] - span[0]
		if n <= 0 {
			continue
		}
		start := randomBelow(n)
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
func (a *allocation) addresses(ip netip.Addr) (Target, error) {
	res, v, err := a.r.lookupResource(api.AddressResource())
	return Target{Resource: res, Version: v, Name: ip.String()}, err
}

// createAddressObject allocates an address by creating its IPAddress object, which names
// the owner.
func (a *allocation) createAddressObject(ctx context.Context, ip netip.Addr, owner api.Object) error {
	t, err := a.addresses(ip)
	if err != nil {
		return err
	}
	out, err := a.r.Create(ctx, t, api.AllocatedIPAddress(ip, a.t.Resource.Name, owner),
		WriteOptions{DryRun: a.dryRun, Manager: ownManager, SkipAdmission: true})
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
	o := DeleteOptions{WriteOptions: WriteOptions{SkipAdmission: true}}
	if uid != nil {
		o.Preconditions = &metav1.Preconditions{UID: uid}
	}
	if _, err = a.r.Delete(ctx, t, o); apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// ReleaseIP implements api.Allocator.
func (a *allocation) ReleaseIP(ip netip.Addr, _ api.Object) {
	a.free = append(a.free, func(ctx context.Context) error { return a.deleteAddressObject(ctx, ip, nil) })
}

// AllocatePort implements api.Allocator.
func (a *allocation) AllocatePort(ctx context.Context, requested int32) (int32, error) {
	if a.dryRun {
		return a.pretendPort(ctx, requested)
	}
	port, err := a.takePort(ctx, requested)
	a.r.allocations.port(requested != 0, err)
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
		return 0, &api.AllocationError{Reason: "provided port is already allocated"}
	}
	if a.ports == nil {
		a.ports = map[int32]bool{}
	}
	a.ports[requested], a.lastPort = true, max(a.lastPort, requested)
	return requested, nil
}

// isPortUsed reports whether a node port is allocated.
func (a *allocation) isPortUsed(ctx context.Context, port int32) (is bool, err error) {
	first, last := a.r.o.Pools.FirstPort, a.r.o.Pools.LastPort
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
	first, last := a.r.o.Pools.FirstPort, a.r.o.Pools.LastPort
	if requested != 0 && (requested < first || requested > last) {
		return 0, &api.AllocationError{Reason: fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d",
			first, last)}
	}
	var got int32
	err := a.changePorts(ctx, func(used *big.Int) error {
		if requested != 0 {
			if used.Bit(int(requested-first)) == 1 {
				return &api.AllocationError{Reason: "provided port is already allocated"}
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
	first := a.r.o.Pools.FirstPort
	n := a.r.o.Pools.LastPort - first + 1
	start := int32(randomBelow(int64(n)))
	for i := range n {
		if at := (start + i) % n; used.Bit(int(at)) == 0 {
			return first + at
		}
	}
	return 0
}

// ReleasePort implements api.Allocator.
func (a *allocation) ReleasePort(port int32) {
	a.free = append(a.free, func(ctx context.Context) error { return a.releasePort(ctx, port) })
}

func (a *allocation) releasePort(ctx context.Context, port int32) error {
	return a.changePorts(ctx, func(used *big.Int) error {
		if at := int(port - a.r.o.Pools.FirstPort); at >= 0 {
			used.SetBit(used, at, 0)
		}
		return nil
	})
}

// changePorts changes the stored set of allocated ports. Bit n of used stands for the port
// FirstPort+n.
func (a *allocation) changePorts(ctx context.Context, change func(used *big.Int) error) error {
	owner := schema.GroupResource{Resource: api.PortsResource}
	services, err := a.r.FindResource(owner)
	if err != nil {
		return err
	}
	store := a.r.storeOf(owner)
	for n := attempts(0); ; {
		if err := n.next(ctx); err != nil {
			return err
		}
		value, revision, err := store.Value(ctx, api.PortsKey)
		if err != nil {
			return err
		}
		used, err := api.DecodePorts(value)
		if err != nil && !a.rebuildsPorts {
			return err
		}
		if a.portsUnreadable = err != nil; a.portsUnreadable {
			used = new(big.Int)
		}
		before := new(big.Int).Set(used)
		a.r.allocations.portsSeen(before)
		if err := change(used); err != nil || a.dryRun || used.Cmp(before) == 0 && !a.portsUnreadable {
			return err
		}
		encoded, err := api.EncodePorts(services.Storage.Encoding, a.r.o.Pools.FirstPort, a.r.o.Pools.LastPort, used)
		if err != nil {
			return err
		}
		switch done, err := store.SetValue(ctx, api.PortsKey, revision, encoded); {
		case err != nil:
			return err
		case done:
			a.r.allocations.portsSeen(used)
			return nil
		}
	}
}
