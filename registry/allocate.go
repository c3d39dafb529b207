package registry

import (
	"context"
	"fmt"
	"math/big"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// Pools are the addresses and ports from which services are allocated theirs.
type Pools struct {
	// Addresses are the ranges of service addresses, at most one of each IP family.
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
		out = append(out, ipFamily(p.Addr()))
	}
	return out
}

func ipFamily(ip netip.Addr) string {
	if ip.Is4() {
		return "IPv4"
	}
	return "IPv6"
}

func (a *allocation) pool(wanted string) (netip.Prefix, bool) {
	for _, p := range a.r.o.Pools.Addresses {
		if ipFamily(p.Addr()) == wanted {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// AllocateIP implements api.Allocator.
func (a *allocation) AllocateIP(ctx context.Context, family string, requested netip.Addr, owner api.Object) (netip.Addr, error) {
	pool, ok := a.pool(family)
	if !ok {
		return netip.Addr{}, fmt.Errorf("there are no addresses of family %s", family)
	}
	start := time.Now()
	ip, err := a.allocateFrom(ctx, pool, requested, owner)
	if !a.dryRun {
		a.r.allocations.address(pool, requested.IsValid(), start, err)
	}
	return ip, err
}

// allocateFrom allocates the requested address of a pool, or any if that is the zero Addr.
func (a *allocation) allocateFrom(ctx context.Context, pool netip.Prefix, requested netip.Addr, owner api.Object) (netip.Addr, error) {
	if requested.IsValid() {
		switch usable := isUsable(pool, requested); {
		case a.dryRun && !usable:
			return requested, &api.AllocationError{Reason: fmt.Sprintf("provided IP (%s) is not in the valid range. The range of valid IPs is %s", requested, pool)}
		case !usable:
			return requested, &api.AllocationError{Reason: "the provided network does not match the current range"}
		case a.dryRun:
			return requested, nil // as in kube-apiserver, a dry run does not check whether the address is free
		}
		err := a.createAddressObject(ctx, requested, owner)
		if apierrors.IsAlreadyExists(err) {
			return requested, &api.AllocationError{Reason: "provided IP is already allocated"}
		}
		return requested, err
	}
	if a.dryRun {
		return pool.Masked().Addr(), nil // the network's address, which is never allocated
	}
	return a.takeAnyIP(ctx, pool, owner)
}

// isUsable reports whether an address of a pool can be allocated: neither the network's
// address nor the IPv4 broadcast address.
func isUsable(pool netip.Prefix, ip netip.Addr) bool {
	if !pool.Contains(ip) || ip == pool.Masked().Addr() {
		return false
	}
	return !ip.Is4() || pool.Contains(ip.Next())
}

// takeAnyIP allocates an address, trying them from a random one on. The lowest addresses of
// a pool come last, because clients request them explicitly.
func (a *allocation) takeAnyIP(ctx context.Context, pool netip.Prefix, owner api.Object) (netip.Addr, error) {
	size := poolSize(pool)
	reserved := min(max(16, size/16), 256, size/2)
	spans := [][2]int64{{reserved, size}, {0, reserved}}
	for _, span := range spans {
		n := span[1] - span[0]
		if n <= 0 {
			continue
		}
		start := randomBelow(int(n))
		for i := range n {
			if err := ctx.Err(); err != nil {
				return netip.Addr{}, err
			}
			ip := addressAt(pool, span[0]+(start+i)%n)
			err := a.createAddressObject(ctx, ip, owner)
			if !apierrors.IsAlreadyExists(err) {
				return ip, err
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("range is full")
}

// poolSize returns the number of addresses that can be allocated from a pool: without the
// network's address and the broadcast address, and at most 65535.
func poolSize(pool netip.Prefix) int64 {
	bits := pool.Addr().BitLen() - pool.Bits()
	if bits > 16 {
		bits = 16
	}
	size := int64(1)<<bits - 1
	if pool.Addr().Is4() {
		size--
	}
	return size
}

// addressAt returns the n-th address of a pool, from 0.
func addressAt(pool netip.Prefix, n int64) netip.Addr {
	base := new(big.Int).SetBytes(pool.Masked().Addr().AsSlice())
	raw := make([]byte, pool.Addr().BitLen()/8)
	new(big.Int).Add(base, big.NewInt(n+1)).FillBytes(raw)
	ip, _ := netip.AddrFromSlice(raw)
	return ip
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
	_, err = a.r.Create(ctx, t, api.AllocatedIPAddress(ip, a.t.Resource.Name, owner), WriteOptions{DryRun: a.dryRun, Manager: ownManager, SkipAdmission: true})
	if err == nil {
		a.undo = append(a.undo, func(ctx context.Context) error { return a.deleteAddressObject(ctx, ip) })
	}
	return err
}

func (a *allocation) deleteAddressObject(ctx context.Context, ip netip.Addr) error {
	t, err := a.addresses(ip)
	if err != nil {
		return err
	}
	if _, err = a.r.Delete(ctx, t, DeleteOptions{WriteOptions: WriteOptions{SkipAdmission: true}}); apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ReleaseIP implements api.Allocator.
func (a *allocation) ReleaseIP(ip netip.Addr, _ api.Object) {
	a.free = append(a.free, func(ctx context.Context) error { return a.deleteAddressObject(ctx, ip) })
}

// AllocatePort implements api.Allocator.
func (a *allocation) AllocatePort(ctx context.Context, requested int32) (int32, error) {
	port, err := a.takePort(ctx, requested)
	if !a.dryRun {
		a.r.allocations.port(requested != 0, err)
	}
	return port, err
}

// takePort allocates the requested port, or any if that is 0.
func (a *allocation) takePort(ctx context.Context, requested int32) (int32, error) {
	first, last := a.r.o.Pools.FirstPort, a.r.o.Pools.LastPort
	if requested != 0 && (requested < first || requested > last) {
		return 0, &api.AllocationError{Reason: fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", first, last)}
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
	start := int32(randomBelow(int(n)))
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
		if err != nil {
			return err
		}
		before := new(big.Int).Set(used)
		a.r.allocations.portsSeen(before)
		if err := change(used); err != nil || a.dryRun || used.Cmp(before) == 0 {
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
