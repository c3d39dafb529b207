package registry

import (
	"context"
	"fmt"
	"math/big"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
)

// Pools are what is handed out to objects.
type Pools struct {
	// Addresses are the ranges that services get theirs from, at most one of
	// each family.
	Addresses []netip.Prefix
	// FirstPort and LastPort bound the node ports.
	FirstPort, LastPort int32
}

// ownManager is the name under which the server itself owns fields.
const ownManager = "kube-apiserver"

// allocation implements api.Allocator for one write.
type allocation struct {
	r      *Registry
	t      Target
	dryRun bool
	// undo gives back what was taken, free what is not needed any more.
	undo, free []func(context.Context) error
}

// allocate allocates what obj needs; old is nil for a new object. It returns an
// allocation even with an error, and the caller has to end it. A write of a status
// allocates nothing.
func (r *Registry) allocate(ctx context.Context, t Target, obj, old api.Object, dryRun bool) (*allocation, error) {
	if t.Resource.Create.Allocate == nil || t.Status {
		return nil, nil
	}
	a := &allocation{r: r, t: t, dryRun: dryRun}
	return a, t.Resource.Create.Allocate(ctx, a, obj, old)
}

// finish gives back what the write that ended with err took in vain or does not need any
// more; a may be nil.
func (a *allocation) finish(ctx context.Context, err error) error {
	switch {
	case a == nil:
		return err
	case err != nil:
		return joinErrors(err, a.run(ctx, a.undo))
	}
	return a.run(ctx, a.free)
}

// release gives back what a deleted object had.
func (r *Registry) release(ctx context.Context, t Target, obj api.Object) error {
	if t.Resource.Delete.Release == nil {
		return nil
	}
	a := &allocation{r: r, t: t}
	t.Resource.Delete.Release(a, obj)
	return a.run(ctx, a.free)
}

// run does what must be done even if the client has gone away.
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

// joinErrors keeps a Status as it is, so that the client sees why its write
// failed and not what came of it; that is mended by the repair loop.
func joinErrors(err, cleanup error) error {
	if _, ok := err.(apierrors.APIStatus); ok || cleanup == nil {
		return err
	}
	return fmt.Errorf("%w (and then: %w)", err, cleanup)
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

// TakeIP implements api.Allocator.
func (a *allocation) TakeIP(ctx context.Context, family string, asked netip.Addr, owner api.Object) (netip.Addr, error) {
	pool, ok := a.pool(family)
	if !ok {
		return netip.Addr{}, fmt.Errorf("there are no addresses of family %s", family)
	}
	if asked.IsValid() {
		switch usable := isUsable(pool, asked); {
		case a.dryRun && !usable:
			return asked, &api.TakenError{Reason: fmt.Sprintf("provided IP (%s) is not in the valid range. The range of valid IPs is %s", asked, pool)}
		case !usable:
			return asked, &api.TakenError{Reason: "the provided network does not match the current range"}
		case a.dryRun:
			return asked, nil // kube-apiserver does not look whether it is free
		}
		err := a.createAddressObject(ctx, asked, owner)
		if apierrors.IsAlreadyExists(err) {
			return asked, &api.TakenError{Reason: "provided IP is already allocated"}
		}
		return asked, err
	}
	if a.dryRun {
		return pool.Masked().Addr(), nil // nobody gets this one
	}
	return a.takeAnyIP(ctx, pool, owner)
}

// isUsable reports whether an address of a pool can be given out: not the address of
// the network, and not the broadcast address of IPv4.
func isUsable(pool netip.Prefix, ip netip.Addr) bool {
	if !pool.Contains(ip) || ip == pool.Masked().Addr() {
		return false
	}
	return !ip.Is4() || pool.Contains(ip.Next())
}

// takeAnyIP tries addresses beginning with a random one. The lowest of a pool are
// left to those who ask for an address by name, until there are no others.
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

// poolSize is how many addresses of a pool can be handed out: not the network's
// own, nor the broadcast address, and of a very large pool only the beginning.
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

// addressAt is the address of a pool with a number, from 0.
func addressAt(pool netip.Prefix, n int64) netip.Addr {
	base := new(big.Int).SetBytes(pool.Masked().Addr().AsSlice())
	raw := make([]byte, pool.Addr().BitLen()/8)
	new(big.Int).Add(base, big.NewInt(n+1)).FillBytes(raw)
	ip, _ := netip.AddrFromSlice(raw)
	return ip
}

func (a *allocation) addresses(ip netip.Addr) (Target, error) {
	res, v, err := a.r.lookupResource(api.AddressResource())
	return Target{Resource: res, Version: v, Name: ip.String()}, err
}

// createAddressObject makes the IPAddress object that says whose an address is.
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

// FreeIP implements api.Allocator.
func (a *allocation) FreeIP(ip netip.Addr, _ api.Object) {
	a.free = append(a.free, func(ctx context.Context) error { return a.deleteAddressObject(ctx, ip) })
}

// TakePort implements api.Allocator.
func (a *allocation) TakePort(ctx context.Context, asked int32) (int32, error) {
	first, last := a.r.o.Pools.FirstPort, a.r.o.Pools.LastPort
	if asked != 0 && (asked < first || asked > last) {
		return 0, &api.TakenError{Reason: fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", first, last)}
	}
	var got int32
	err := a.changePorts(ctx, func(used *big.Int) error {
		if asked != 0 {
			if used.Bit(int(asked-first)) == 1 {
				return &api.TakenError{Reason: "provided port is already allocated"}
			}
			got = asked
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

// freePort is a free port, a random one; 0 when there is none.
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

// FreePort implements api.Allocator.
func (a *allocation) FreePort(port int32) {
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

// changePorts changes which ports are taken: bit n stands for the port n above
// the first.
func (a *allocation) changePorts(ctx context.Context, change func(used *big.Int) error) error {
	for n := attempts(0); ; {
		if err := n.next(ctx); err != nil {
			return err
		}
		value, revision, err := a.r.store.Value(ctx, api.PortsKey)
		if err != nil {
			return err
		}
		used, err := api.DecodePorts(value)
		if err != nil {
			return err
		}
		before := new(big.Int).Set(used)
		if err := change(used); err != nil || a.dryRun || used.Cmp(before) == 0 {
			return err
		}
		encoded, err := api.EncodePorts(a.r.o.Pools.FirstPort, a.r.o.Pools.LastPort, used)
		if err != nil {
			return err
		}
		switch done, err := a.r.store.SetValue(ctx, api.PortsKey, revision, encoded); {
		case err != nil:
			return err
		case done:
			return nil
		}
	}
}
