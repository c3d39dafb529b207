package allocation

import (
	"context"
	"errors"
	"math/big"
	"math/bits"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// metrics counts the allocations of service addresses and node ports under
// kube-apiserver's metric names.
type metrics struct {
	of                        *Allocator
	addresses, addressErrors  *prometheus.CounterVec // by cidr and scope
	addressDuration           *prometheus.HistogramVec
	ports, portErrors         *prometheus.CounterVec // by scope
	usedPorts, availablePorts prometheus.Gauge
	addressRepair, portRepair repairMetrics
	// usedAddresses and availableAddresses are read from the cache.
	usedAddresses, availableAddresses *prometheus.Desc
	set                               metricset.Set // has all of these
}

// repairMetrics measures the repairs of addresses, or of ports.
type repairMetrics struct {
	failures prometheus.Counter
	found    *prometheus.CounterVec // by type
}

// Types of errors that a repair finds, as kube-apiserver names them.
const (
	foundLeak       = "leak"
	foundRepair     = "repair"
	foundOutOfRange = "outOfRange"
	foundDuplicate  = "duplicate"
	foundInvalid    = "invalid"
	foundUnknown    = "unknown"
)

func newMetrics(of *Allocator) *metrics {
	m := &metrics{of: of}
	m.addresses = m.set.CounterVec("kube_apiserver_clusterip_allocator_allocation_total",
		"[ALPHA] Number of allocations of service addresses, by range and by whether the client requested "+
			"the address (static) or not (dynamic).", "cidr", "scope")
	m.addressErrors = m.set.CounterVec("kube_apiserver_clusterip_allocator_allocation_errors_total",
		"[ALPHA] Number of failed allocations of service addresses, by range and scope.", "cidr", "scope")
	m.addressDuration = m.set.NativeHistogramVec("kube_apiserver_clusterip_allocator_allocation_duration_seconds",
		"[ALPHA] Duration of allocations of service addresses by range, in seconds.", prometheus.DefBuckets, "cidr")
	m.ports = m.set.CounterVec("kube_apiserver_nodeport_allocator_allocation_total",
		"[ALPHA] Number of allocations of node ports, by scope: static or dynamic.", "scope")
	m.portErrors = m.set.CounterVec("kube_apiserver_nodeport_allocator_allocation_errors_total",
		"[ALPHA] Number of failed allocations of node ports, by scope.", "scope")
	m.usedPorts = m.set.Gauge("kube_apiserver_nodeport_allocator_allocated_ports",
		"[ALPHA] Number of allocated node ports, when this server last read or changed them.")
	m.availablePorts = m.set.Gauge("kube_apiserver_nodeport_allocator_available_ports",
		"[ALPHA] Number of node ports that could still be allocated then.")
	m.usedAddresses = m.set.Desc("kube_apiserver_clusterip_allocator_allocated_ips",
		"[ALPHA] Number of allocated addresses of services, by range.", "cidr")
	m.availableAddresses = m.set.Desc("kube_apiserver_clusterip_allocator_available_ips",
		"[ALPHA] Number of addresses that can still be allocated to services, by range.", "cidr")
	m.addressRepair = repairMetrics{
		failures: m.set.Counter("apiserver_clusterip_repair_reconcile_errors_total",
			"[ALPHA] Number of reconciliation failures on the clusterip repair reconcile loop"),
		found: m.set.CounterVec("apiserver_clusterip_repair_ip_errors_total",
			"[ALPHA] Number of errors detected on clusterips by the repair loop broken down by type of error: "+
				"leak, repair, full, outOfRange, duplicate, unknown, invalid", "type"),
	}
	m.portRepair = repairMetrics{
		failures: m.set.Counter("apiserver_nodeport_repair_reconcile_errors_total",
			"[ALPHA] Number of reconciliation failures on the nodeport repair reconcile loop"),
		found: m.set.CounterVec("apiserver_nodeport_repair_port_errors_total",
			"[ALPHA] Number of errors detected on ports by the repair loop broken down by type of error: "+
				"leak, repair, full, outOfRange, duplicate, unknown", "type"),
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) { m.set.Describe(ch) }

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.set.Collect(ch)
	for in, used := range m.countAddresses() {
		ch <- prometheus.MustNewConstMetric(m.usedAddresses, prometheus.GaugeValue, float64(used), in.String())
		ch <- prometheus.MustNewConstMetric(m.availableAddresses, prometheus.GaugeValue, float64(usableAddresses(in)-used), in.String())
	}
}

// countAddresses returns the number of allocated addresses of each range. It returns nil before the
// caches have them.
func (m *metrics) countAddresses() map[netip.Prefix]int64 {
	t, err := m.of.target(AddressResource())
	if err != nil || !m.of.r.IsLoaded(t.Resource) {
		return nil
	}
	read := storage.Read{Match: storage.Any}
	list, err := m.of.r.List(context.Background(), t, registry.ListOptions{Read: read})
	if err != nil {
		return nil
	}
	ranges, err := m.of.addressRanges(context.Background(), read)
	if err != nil {
		return nil
	}
	counts := map[netip.Prefix]int64{}
	for _, in := range ranges {
		counts[in.Prefix] = 0
	}
	for _, item := range list.Items {
		ip, err := netip.ParseAddr(item.Name())
		for in := range counts {
			if err == nil && IsUsable(in, ip) {
				counts[in]++
			}
		}
	}
	return counts
}

// scopeOf returns the label scope of an allocation.
func scopeOf(requested bool) string {
	if requested {
		return "static"
	}
	return "dynamic"
}

// address counts the allocation of an address of a range, which began at start.
func (m *metrics) address(in netip.Prefix, scope string, start time.Time, err error) {
	cidr := in.String()
	if err != nil {
		m.addressErrors.WithLabelValues(cidr, scope).Inc()
		return
	}
	m.addresses.WithLabelValues(cidr, scope).Inc()
	m.addressDuration.WithLabelValues(cidr).Observe(time.Since(start).Seconds())
}

// port counts the allocation of a port.
func (m *metrics) port(requested bool, err error) {
	if err != nil {
		m.portErrors.WithLabelValues(scopeOf(requested)).Inc()
		return
	}
	m.ports.WithLabelValues(scopeOf(requested)).Inc()
}

// portsSeen records the set of allocated ports.
func (m *metrics) portsSeen(used *big.Int) {
	n := 0
	for _, word := range used.Bits() {
		n += bits.OnesCount(uint(word))
	}
	m.usedPorts.Set(float64(n))
	m.availablePorts.Set(float64(int(m.of.o.Pools.LastPort-m.of.o.Pools.FirstPort) + 1 - n))
}

// repaired counts a failed repair, unless the server ended it.
func (m *repairMetrics) repaired(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		m.failures.Inc()
	}
}

// count counts n errors of a type.
func (m *repairMetrics) count(kind string, n int) {
	if n > 0 {
		m.found.WithLabelValues(kind).Add(float64(n))
	}
}
