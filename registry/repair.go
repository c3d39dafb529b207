package registry

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// What is handed out is marked as taken before the object that it is for is
// stored, and given back after the object is gone. A server that dies in between
// leaves something that belongs to nobody; and what other hands did to the store
// may have left objects with what is not marked as theirs.

const (
	// leakRounds is how often a port is found with nobody before it is given back:
	// the object that it is for may be on its way.
	leakRounds = 3
	// leakAge is how old the mark of an address must be for the same reason: more
	// than a request may take.
	leakAge = time.Minute
)

// Repairer makes what is marked as taken agree with what objects have.
type Repairer struct {
	r      *Registry
	logger *slog.Logger
	// suspects are ports that nobody has, with how often they were found so.
	suspects map[int32]int
}

// NewRepairer makes a Repairer that tells logger what it mends.
func (r *Registry) NewRepairer(logger *slog.Logger) *Repairer {
	return &Repairer{r: r, logger: logger, suspects: map[int32]int{}}
}

// Run repairs at once, and again after each interval, until ctx is done. It calls
// report, unless that is nil, with the result of each time.
func (p *Repairer) Run(ctx context.Context, interval time.Duration, report func(error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		err := p.Repair(ctx)
		if err != nil && ctx.Err() == nil {
			p.logger.Warn("allocations were not all repaired", "error", err)
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

// Repair looks at everything once.
func (p *Repairer) Repair(ctx context.Context) error {
	return errors.Join(p.repairPorts(ctx), p.repairAddresses(ctx))
}

// allocatedObject is an object that has addresses and ports.
type allocatedObject struct {
	resource *api.Resource
	object   api.Object
	ips      []netip.Addr
	ports    []int32
}

// allocatedObjects returns all objects with allocated addresses or ports. It is not complete if
// an object cannot be decoded: then nothing may be given back, because that object may
// have it.
func (p *Repairer) allocatedObjects(ctx context.Context) (out []allocatedObject, complete bool, err error) {
	complete = true
	for _, res := range p.r.catalogue.Resources() {
		if res.Delete.Allocated == nil {
			continue
		}
		list, err := p.r.List(ctx, Target{Resource: res, Version: &res.Versions[0]}, ListOptions{Read: storage.Read{Match: storage.Consistent}})
		if err != nil {
			return nil, false, err
		}
		for _, item := range list.Items {
			obj, err := item.Object()
			if err != nil {
				complete = false
				continue
			}
			h := allocatedObject{resource: res, object: obj}
			if h.ips, h.ports = res.Delete.Allocated(obj); len(h.ips)+len(h.ports) > 0 {
				out = append(out, h)
			}
		}
	}
	return out, complete, nil
}

// repairPorts makes the stored set of ports that of the objects. What is taken
// is read before the objects are: a port that is taken later changes it, so that
// the write fails and all is read again.
func (p *Repairer) repairPorts(ctx context.Context) error {
	first, last := p.r.o.Pools.FirstPort, p.r.o.Pools.LastPort
	if last == 0 {
		return nil
	}
	a := &allocation{r: p.r}
	var suspects map[int32]int
	err := a.changePorts(ctx, func(used *big.Int) error {
		holdings, complete, err := p.allocatedObjects(ctx)
		if err != nil {
			return err
		}
		held := map[int32]bool{}
		for _, h := range holdings {
			for _, port := range h.ports {
				held[port] = true
				if port >= first && port <= last && used.Bit(int(port-first)) == 0 {
					p.log("a node port was not marked as taken", h.object, "port", port)
					used.SetBit(used, int(port-first), 1)
				}
			}
		}
		suspects = map[int32]int{}
		for port := first; port <= last; port++ {
			switch {
			case !complete, used.Bit(int(port-first)) == 0, held[port]:
			case p.suspects[port]+1 >= leakRounds:
				p.logger.Warn("a node port that nobody has is given back", "port", port)
				used.SetBit(used, int(port-first), 0)
			default:
				suspects[port] = p.suspects[port] + 1
			}
		}
		return nil
	})
	if err == nil {
		p.suspects = suspects
	}
	return err
}

// repairAddresses makes an object for each address that an object has, and
// deletes those that no object has.
func (p *Repairer) repairAddresses(ctx context.Context) error {
	res, version, err := p.r.lookupResource(api.AddressResource())
	if err != nil {
		return err
	}
	t := Target{Resource: res, Version: version}
	marks, err := p.addressMarks(ctx, t)
	if err != nil {
		return err
	}
	holdings, complete, err := p.allocatedObjects(ctx)
	if err != nil {
		return err
	}
	owners := map[netip.Addr][]allocatedObject{}
	for _, h := range holdings {
		for _, ip := range h.ips {
			owners[ip] = append(owners[ip], h)
		}
	}
	var errs []error
	for ip, hs := range owners {
		if len(hs) > 1 {
			p.log("an address is that of several", hs[1].object, "address", ip)
		}
		if mark, known := marks[ip]; mark != nil || !known {
			errs = append(errs, p.createMark(ctx, t, ip, hs, mark))
		}
	}
	for ip, mark := range marks {
		if complete && mark != nil && len(owners[ip]) == 0 && p.r.o.Now().Sub(mark.object.GetCreationTimestamp().Time) > leakAge {
			p.log("an address that nobody has is given back", mark.object, "address", ip)
			errs = append(errs, p.deleteMark(ctx, t, mark.object))
		}
	}
	return errors.Join(errs...)
}

// addressMark is an object that says whose an address is.
type addressMark struct {
	api.IPClaim
	object api.Object
}

// addressMarks returns the address objects of this server and its peers. The value is nil for
// an object that cannot be decoded.
func (p *Repairer) addressMarks(ctx context.Context, t Target) (map[netip.Addr]*addressMark, error) {
	list, err := p.r.List(ctx, t, ListOptions{Read: storage.Read{Match: storage.Consistent}})
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
		if claim, ok := api.IPClaimOf(obj); ok {
			out[claim.IP] = &addressMark{claim, obj}
		}
	}
	return out, nil
}

// createMark marks ip as that of the first of its owners, unless it is that of any.
func (p *Repairer) createMark(ctx context.Context, t Target, ip netip.Addr, owners []allocatedObject, there *addressMark) error {
	a := &allocation{r: p.r, t: Target{Resource: owners[0].resource}}
	if _, ok := a.pool(ipFamily(ip)); !ok {
		p.log("an address is of no range", owners[0].object, "address", ip)
		return nil
	}
	if there != nil {
		for _, h := range owners {
			if there.isOf(h) {
				return nil
			}
		}
		if err := p.deleteMark(ctx, t, there.object); err != nil {
			return err
		}
	}
	err := a.createAddressObject(ctx, ip, owners[0].object)
	if apierrors.IsAlreadyExists(err) { // somebody else's, or just made
		return nil
	}
	if err == nil {
		p.log("an address was not marked as taken", owners[0].object, "address", ip)
	}
	return err
}

func (m *addressMark) isOf(h allocatedObject) bool {
	return m.Group == h.resource.Versions[0].Group && m.Resource == h.resource.Name &&
		m.Namespace == h.object.GetNamespace() && m.Name == h.object.GetName()
}

// deleteMark deletes a mark, if it is still the one that was looked at.
func (p *Repairer) deleteMark(ctx context.Context, t Target, mark api.Object) error {
	t.Name = mark.GetName()
	uid, revision := mark.GetUID(), mark.GetResourceVersion()
	_, err := p.r.Delete(ctx, t, DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (p *Repairer) log(message string, obj api.Object, more ...any) {
	p.logger.Warn(message, append([]any{"namespace", obj.GetNamespace(), "name", obj.GetName()}, more...)...)
}
