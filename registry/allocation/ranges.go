package allocation

import (
	"context"
	"math/big"
	"net/netip"
	"slices"

	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// addressRange is a range of service addresses. Several ServiceCIDRs may have the same range.
type addressRange struct {
	netip.Prefix
	// ready means that addresses can be allocated from the range.
	ready bool
}

// minIPv6Bits is the length of the shortest IPv6 prefix from which addresses are allocated.
const minIPv6Bits = 64

// addressRanges returns the ranges of the stored ServiceCIDRs, each once.
func (a *Allocator) addressRanges(ctx context.Context, read storage.Read) ([]addressRange, error) {
	t, err := a.target(RangeResource())
	if err != nil {
		return nil, err
	}
	list, err := a.r.List(ctx, t, registry.ListOptions{Read: read})
	if err != nil {
		return nil, err
	}
	var out []addressRange
	for _, item := range list.Items {
		obj, err := item.Object()
		if err != nil {
			continue // nothing is known about its ranges
		}
		prefixes, ready := AddressRangesOf(obj)
		for _, p := range prefixes {
			i := slices.IndexFunc(out, func(known addressRange) bool { return known.Prefix == p })
			if i < 0 {
				i, out = len(out), append(out, addressRange{Prefix: p})
			}
			out[i].ready = out[i].ready || ready && (p.Addr().Is4() || p.Bits() >= minIPv6Bits)
		}
	}
	return out, nil
}

// readyRanges returns the ranges of a family from which addresses can be allocated.
func (a *Allocator) readyRanges(ctx context.Context, family string) ([]netip.Prefix, error) {
	ranges, err := a.addressRanges(ctx, storage.Read{})
	var out []netip.Prefix
	for _, known := range ranges {
		if known.ready && service.FamilyOf(known.Addr()) == family {
			out = append(out, known.Prefix)
		}
	}
	return out, err
}

// CanAllocate reports whether an address is in a range from which addresses can be allocated.
func (a *Allocator) CanAllocate(ctx context.Context, ip netip.Addr) (bool, error) {
	ranges, err := a.readyRanges(ctx, service.FamilyOf(ip))
	return slices.ContainsFunc(ranges, func(in netip.Prefix) bool { return IsUsable(in, ip) }), err
}

// IsUsable reports whether an address of a range can be allocated: neither the network's
// address nor the IPv4 broadcast address.
func IsUsable(in netip.Prefix, ip netip.Addr) bool {
	if !in.Contains(ip) || ip == in.Masked().Addr() {
		return false
	}
	return !ip.Is4() || in.Contains(ip.Next())
}

// usableAddresses returns the number of addresses that can be allocated from a range: without
// that of the network and the IPv4 broadcast address. Larger numbers are the largest int64.
func usableAddresses(in netip.Prefix) int64 {
	hostBits := in.Addr().BitLen() - in.Bits()
	if hostBits > 62 {
		return 1<<63 - 1
	}
	size := int64(1)<<hostBits - 1
	if in.Addr().Is4() {
		size--
	}
	return max(size, 0)
}

// reservedAddresses returns the number of the lowest addresses of a range that are allocated last,
// because clients request them explicitly. A small range has none.
func reservedAddresses(in netip.Prefix) int64 {
	const least, most, step = 16, 256, 16
	hostBits := min(in.Addr().BitLen()-in.Bits(), 16)
	size := int64(1) << hostBits
	if size <= least {
		return 0
	}
	return min(max(least, size/step), most)
}

// addressAt returns the n-th usable address of a range, from 0.
func addressAt(in netip.Prefix, n int64) netip.Addr {
	base := new(big.Int).SetBytes(in.Masked().Addr().AsSlice())
	raw := make([]byte, in.Addr().BitLen()/8)
	base.Add(base, big.NewInt(n)).Add(base, big.NewInt(1)).FillBytes(raw)
	ip, _ := netip.AddrFromSlice(raw)
	return ip
}
