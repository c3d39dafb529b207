package allocation

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Addresses and ports are allocated before the object is stored, and released after it is
// removed. If the server dies in between, an allocation without an owner remains. Writes
// to etcd by other programs can leave objects with addresses that are not allocated.

const (
	// leakRounds is the number of successive repairs that must find a port without an owner
	// before it is released, because its object may be about to be stored.
	leakRounds = 3
	// leakAge is the minimum age of an IPAddress object without an owner before it is
	// deleted. It is much longer than the time for which a webhook can hold the creation of the Service
	// to which the address was given.
	leakAge = 10 * time.Minute
)

// Repairer makes the allocated addresses and ports agree with the objects that use them.
type Repairer struct {
	*Allocator
	logger *slog.Logger
	// suspects has the number of repairs that found a port without an owner.
	suspects map[int32]int
}

// NewRepairer returns a Repairer that logs its repairs.
func (a *Allocator) NewRepairer(logger *slog.Logger) *Repairer {
	return &Repairer{Allocator: a, logger: logger, suspects: map[int32]int{}}
}

// Run repairs at once and then after each interval, until ctx is done. It calls report,
// unless that is nil, with the result of each repair.
func (p *Repairer) Run(ctx context.Context, interval time.Duration, report func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		err := p.Repair(ctx)
		if err != nil && ctx.Err() == nil {
			p.logger.Warn("repair of allocations failed", "error", err)
		}
		if report != nil {
			report(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Repair repairs all allocations once.
func (p *Repairer) Repair(ctx context.Context) error {
	ports := p.repairPorts(ctx)
	p.metrics.portRepair.repaired(ports)
	addresses := p.repairAddresses(ctx)
	p.metrics.addressRepair.repaired(addresses)
	return errors.Join(ports, addresses)
}

// allocatedObject is an object with allocated addresses or ports.
type allocatedObject struct {
	object *corev1.Service
	ips    []netip.Addr
	ports  []int32
}

// allocatedObjects returns all objects with allocated addresses or ports. It is not
// complete if an object cannot be decoded. Nothing must be released then, because that
// object may use it.
func (p *Repairer) allocatedObjects(ctx context.Context) (out []allocatedObject, complete bool, err error) {
	t, err := p.target(ServiceResource())
	if err != nil {
		return nil, false, err
	}
	t.Version = &t.Resource.Versions[0]
	list, err := p.r.List(ctx, t, registry.ListOptions{Read: storage.Read{Match: storage.Consistent}})
	if err != nil {
		return nil, false, err
	}
	complete = true
	for _, item := range list.Items {
		obj, err := item.Object()
		if err != nil {
			complete = false
			continue
		}
		h := allocatedObject{object: obj.(*corev1.Service)}
		if h.ips, h.ports = service.Allocated(h.object); len(h.ips)+len(h.ports) > 0 {
			out = append(out, h)
		}
	}
	return out, complete, nil
}

// repairPorts makes the stored set of ports equal to the ports of the objects. It reads the
// set before the objects: a port that is allocated later changes the set, so that the write
// fails and is retried.
func (p *Repairer) repairPorts(ctx context.Context) error {
	first, last := p.o.Pools.FirstPort, p.o.Pools.LastPort
	if last == 0 {
		return nil
	}
	a := &allocation{Allocator: p.Allocator, rebuildsPorts: true}
	var round portRound
	err := a.changePorts(ctx, func(used *big.Int) error {
		holdings, complete, err := p.allocatedObjects(ctx)
		if err != nil {
			return err
		}
		if a.portsUnreadable && !complete {
			return errors.New("the set of node ports cannot be decoded, and cannot be rebuilt while an object with ports cannot be decoded")
		}
		round = portRound{Repairer: p, held: map[int32]int{}, suspects: map[int32]int{}, found: map[string]int{}}
		for i, h := range holdings {
			round.allocate(used, i+1, h)
		}
		for port := first; complete && port <= last; port++ {
			round.release(used, port)
		}
		return nil
	})
	if err == nil {
		p.suspects = round.suspects
		for kind, n := range round.found {
			p.metrics.portRepair.count(kind, n)
		}
	}
	return err
}

// portRound is one attempt to repair the set of ports, which is repeated if the set changes
// meanwhile.
type portRound struct {
	*Repairer
	// held has the object that uses a port, by a number that is not 0.
	held     map[int32]int
	suspects map[int32]int
	// found has the number of errors by type.
	found map[string]int
}

// allocate allocates the ports of an object. The protocols of one object may share a port.
func (p *portRound) allocate(used *big.Int, object int, h allocatedObject) {
	first, last := p.o.Pools.FirstPort, p.o.Pools.LastPort
	for _, port := range h.ports {
		owner := p.held[port]
		switch {
		case owner == object:
			continue
		case owner != 0:
			p.found[foundDuplicate]++
			p.log("several objects use one node port", h.object, "port", port)
			continue
		case port < first || port > last:
			p.found[foundOutOfRange]++
			p.log("a node port is outside of the range", h.object, "port", port)
		case used.Bit(int(port-first)) == 0:
			p.found[foundRepair]++
			p.log("allocated a node port that was in use", h.object, "port", port)
			used.SetBit(used, int(port-first), 1)
		}
		p.held[port] = object
	}
}

// release releases a port that no object uses, if enough rounds found that.
func (p *portRound) release(used *big.Int, port int32) {
	at := int(port - p.o.Pools.FirstPort)
	switch {
	case used.Bit(at) == 0, p.held[port] != 0:
	case p.Repairer.suspects[port]+1 >= leakRounds:
		p.found[foundLeak]++
		p.logger.Warn("released a node port without an owner", "port", port)
		used.SetBit(used, at, 0)
	default:
		p.suspects[port] = p.Repairer.suspects[port] + 1
	}
}

// repairAddresses creates an IPAddress object for each address of an object that is within the
// ranges, and deletes IPAddress objects that no object uses.
func (p *Repairer) repairAddresses(ctx context.Context) error {
	t, err := p.target(AddressResource())
	if err != nil {
		return err
	}
	marks, err := p.addressMarks(ctx, t)
	if err != nil {
		return err
	}
	holdings, complete, err := p.allocatedObjects(ctx)
	if err != nil {
		return err
	}
	ranges, err := p.addressRanges(ctx, storage.Read{})
	if err != nil {
		return err
	}
	found := &p.metrics.addressRepair
	owners := map[netip.Addr][]allocatedObject{}
	for _, h := range holdings {
		for _, ip := range h.ips {
			owners[ip] = append(owners[ip], h)
		}
	}
	var errs []error
	for ip, hs := range owners {
		if len(hs) > 1 {
			found.count(foundDuplicate, 1)
			p.log("several objects use one address", hs[1].object, "address", ip)
		}
		if mark, exists := marks[ip]; mark != nil || !exists {
			err := p.createMark(ctx, t, ip, ranges, hs, mark)
			if err != nil && ctx.Err() == nil {
				found.count(foundUnknown, 1)
			}
			errs = append(errs, err)
		}
	}
	for ip, mark := range marks {
		if complete && mark != nil && len(owners[ip]) == 0 && p.o.Now().Sub(mark.object.GetCreationTimestamp().Time) > leakAge {
			found.count(foundLeak, 1)
			p.log("released an address without an owner", mark.object, "address", ip)
			errs = append(errs, p.deleteMark(ctx, t, mark.object))
		}
	}
	return errors.Join(errs...)
}

// addressMark is an IPAddress object, with the owner that it names.
type addressMark struct {
	IPClaim
	object api.Object
}

// addressMarks returns the IPAddress objects that this server and its peers created. The
// value is nil for an object that cannot be decoded.
func (p *Repairer) addressMarks(ctx context.Context, t registry.Target) (map[netip.Addr]*addressMark, error) {
	list, err := p.r.List(ctx, t, registry.ListOptions{Read: storage.Read{Match: storage.Consistent}})
	if err != nil {
		return nil, err
	}
	out := map[netip.Addr]*addressMark{}
	for _, item := range list.Items {
		obj, err := item.Object()
		if err != nil {
			if ip, err := netip.ParseAddr(item.Name()); err == nil {
				out[ip] = nil
			}
			continue
		}
		if claim, ok := IPClaimOf(obj); ok {
			out[claim.IP] = &addressMark{claim, obj}
		}
	}
	return out, nil
}

// createMark allocates ip to the first of its owners, unless existing names one of them, or ip is
// outside of the ranges, from which it cannot be allocated.
func (p *Repairer) createMark(ctx context.Context, t registry.Target, ip netip.Addr, ranges []addressRange,
	owners []allocatedObject, existing *addressMark) error {
	a := &allocation{Allocator: p.Allocator}
	if !slices.Contains(a.Families(), service.FamilyOf(ip)) {
		p.metrics.addressRepair.count(foundInvalid, 1)
		p.log("an address is of a family without service ranges", owners[0].object, "address", ip)
		return nil
	}
	// A range that is not ready, or that is being deleted, still has its addresses.
	inRange := slices.ContainsFunc(ranges, func(in addressRange) bool { return IsUsable(in.Prefix, ip) })
	if !inRange {
		p.metrics.addressRepair.count(foundOutOfRange, 1)
		p.log("an address is outside of the service ranges", owners[0].object, "address", ip)
	}
	if existing != nil {
		for _, h := range owners {
			if existing.isOf(h) {
				return nil
			}
		}
		if err := p.deleteMark(ctx, t, existing.object); err != nil {
			return err
		}
	}
	if !inRange {
		return nil
	}
	err := a.createAddressObject(ctx, ip, owners[0].object)
	if apierrors.IsAlreadyExists(err) { // another client's, or created meanwhile
		return nil
	}
	if err == nil {
		p.metrics.addressRepair.count(foundRepair, 1)
		p.log("allocated an address that was in use", owners[0].object, "address", ip)
	}
	return err
}

// isOf reports whether the IPAddress object names h as its owner.
func (m *addressMark) isOf(h allocatedObject) bool {
	services := ServiceResource()
	return m.Group == services.Group && m.Resource == services.Resource &&
		m.Namespace == h.object.GetNamespace() && m.Name == h.object.GetName()
}

// deleteMark deletes an IPAddress object unless it changed since it was read.
func (p *Repairer) deleteMark(ctx context.Context, t registry.Target, mark api.Object) error {
	t.Name = mark.GetName()
	uid, revision := mark.GetUID(), mark.GetResourceVersion()
	_, err := p.r.Delete(ctx, t, registry.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (p *Repairer) log(message string, obj api.Object, more ...any) {
	p.logger.Warn(message, append([]any{"namespace", obj.GetNamespace(), "name", obj.GetName()}, more...)...)
}
