package allocation

import (
	"context"
	"errors"
	"math/big"
	"math/bits"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/histogram"
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

func newRepairMetrics(name, failuresHelp, foundName, foundHelp string) repairMetrics {
	prefix := "apiserver_" + name + "_repair_"
	return repairMetrics{
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "reconcile_errors_total", Help: "[ALPHA] " + failuresHelp}),
		found:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + foundName, Help: "[ALPHA] " + foundHelp}, []string{"type"}),
	}
}

// Descriptions of the metrics that are read from the cache; they are immutable.
var (
	usedAddressesDesc = prometheus.NewDesc("kube_apiserver_clusterip_allocator_allocated_ips",
		"[ALPHA] Number of allocated addresses of services, by range.", []string{"cidr"}, nil)
	availableAddressesDesc = prometheus.NewDesc("kube_apiserver_clusterip_allocator_available_ips",
		"[ALPHA] Number of addresses that can still be allocated to services, by range.", []string{"cidr"}, nil)
)

func newMetrics(of *Allocator) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return &metrics{
		of: of,
		addresses: counter("kube_apiserver_clusterip_allocator_allocation_total",
			"[ALPHA] Number of allocations of service addresses, by range and by whether the client requested the address (static) or not (dynamic).", "cidr", "scope"),
		addressErrors: counter("kube_apiserver_clusterip_allocator_allocation_errors_total",
			"[ALPHA] Number of failed allocations of service addresses, by range and scope.", "cidr", "scope"),
		addressDuration: histogram.NewVec(prometheus.HistogramOpts{Name: "kube_apiserver_clusterip_allocator_allocation_duration_seconds",
			Help: "[ALPHA] Duration of allocations of service addresses by range, in seconds.", Buckets: prometheus.DefBuckets}, []string{"cidr"}),
		ports: counter("kube_apiserver_nodeport_allocator_allocation_total",
			"[ALPHA] Number of allocations of node ports, by scope: static or dynamic.", "scope"),
		portErrors: counter("kube_apiserver_nodeport_allocator_allocation_errors_total",
			"[ALPHA] Number of failed allocations of node ports, by scope.", "scope"),
		usedPorts: gauge("kube_apiserver_nodeport_allocator_allocated_ports",
			"[ALPHA] Number of allocated node ports, when this server last read or changed them."),
		availablePorts: gauge("kube_apiserver_nodeport_allocator_available_ports",
			"[ALPHA] Number of node ports that could still be allocated then."),
		addressRepair: newRepairMetrics("clusterip", "Number of reconciliation failures on the clusterip repair reconcile loop",
			"ip_errors_total", "Number of errors detected on clusterips by the repair loop broken down by type of error: leak, repair, full, outOfRange, duplicate, unknown, invalid"),
		portRepair: newRepairMetrics("nodeport", "Number of reconciliation failures on the nodeport repair reconcile loop",
			"port_errors_total", "Number of errors detected on ports by the repair loop broken down by type of error: leak, repair, full, outOfRange, duplicate, unknown"),
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.addresses, m.addressErrors, m.addressDuration, m.ports, m.portErrors, m.usedPorts, m.availablePorts,
		m.addressRepair.failures, m.addressRepair.found, m.portRepair.failures, m.portRepair.found}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
	ch <- usedAddressesDesc
	ch <- availableAddressesDesc
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
	for in, used := range m.countAddresses() {
		ch <- prometheus.MustNewConstMetric(usedAddressesDesc, prometheus.GaugeValue, float64(used), in.String())
		ch <- prometheus.MustNewConstMetric(availableAddressesDesc, prometheus.GaugeValue, float64(usableAddresses(in)-used), in.String())
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
