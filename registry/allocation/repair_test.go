package allocation

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/seriestest"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// allocating returns a registry with pools, a Repairer, and the registry's clock.
func allocating(t *testing.T) (*fixture, *Repairer, *time.Time) {
	t.Helper()
	r, now := newFixture(t, Pools{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, FirstPort: 30000, LastPort: 30100}), noon
	r.allocator.o.Now = func() time.Time { return now }
	create(t, r, r.rangeAt(t, "kubernetes"), serviceCIDR("kubernetes", "10.0.0.0/24"))
	return r, r.allocator.NewRepairer(slog.New(slog.DiscardHandler)), &now
}

func (r *fixture) service(t *testing.T, name string) registry.Target {
	return r.at(t, ServiceResource(), name)
}

func (r *fixture) address(t *testing.T, ip string) registry.Target {
	return r.at(t, AddressResource(), ip)
}

// nodePortService creates a service with an address and a port.
func nodePortService(t *testing.T, r *fixture, name string) *corev1.Service {
	t.Helper()
	at := r.service(t, name)
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
	at.Resource.Default(svc)
	return create(t, r, at, svc).(*corev1.Service)
}

// takenPorts returns the stored set of allocated ports.
func takenPorts(t *testing.T, r *fixture) []int32 {
	t.Helper()
	value, _, err := r.store.Value(t.Context(), PortsKey)
	if err != nil {
		t.Fatal(err)
	}
	used, err := DecodePorts(value)
	if err != nil {
		t.Fatal(err)
	}
	var out []int32
	for i := range used.BitLen() {
		if used.Bit(i) == 1 {
			out = append(out, r.allocator.o.Pools.FirstPort+int32(i))
		}
	}
	return out
}

func setPort(t *testing.T, r *fixture, port int32, taken uint) {
	t.Helper()
	err := (&allocation{Allocator: r.allocator}).changePorts(t.Context(), func(used *big.Int) error {
		used.SetBit(used, int(port-r.allocator.o.Pools.FirstPort), taken)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// storeRaw stores a service as another program may: no rule refuses or allocates its addresses.
func storeRaw(t *testing.T, r *fixture, at registry.Target, svc *corev1.Service) {
	t.Helper()
	svc.APIVersion, svc.Kind, svc.Namespace, svc.Name = "v1", "Service", at.Namespace, at.Name
	raw, err := json.Marshal(svc)
	if err != nil {
		t.Fatal(err)
	}
	if created, err := r.store.SetValue(t.Context(), "services/specs/"+at.Key(), 0, raw); err != nil || !created {
		t.Fatalf("created: %t, error: %v", created, err)
	}
}

func repair(t *testing.T, p *Repairer) {
	t.Helper()
	if err := p.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRepairLeakedPorts checks that a port without an owner is released after several
// repairs, unless an object uses it in between.
func TestRepairLeakedPorts(t *testing.T) {
	r, p, _ := allocating(t)
	svc := nodePortService(t, r, "x")
	mine := svc.Spec.Ports[0].NodePort
	leaked := r.allocator.o.Pools.FirstPort
	if mine == leaked {
		leaked++
	}
	setPort(t, r, leaked, 1)
	for round := 1; round < leakRounds; round++ {
		repair(t, p)
		if got := takenPorts(t, r); len(got) != 2 {
			t.Fatalf("round %d: %v are taken, want %d and %d", round, got, mine, leaked)
		}
	}
	repair(t, p)
	if got := takenPorts(t, r); len(got) != 1 || got[0] != mine {
		t.Errorf("%v are taken, want %d", got, mine)
	}
	// A port that is used in between is no longer a suspect.
	setPort(t, r, leaked, 1)
	repair(t, p)
	setPort(t, r, leaked, 0)
	repair(t, p)
	setPort(t, r, leaked, 1)
	repair(t, p)
	repair(t, p)
	if got := takenPorts(t, r); len(got) != 2 {
		t.Errorf("%v are taken, want %d and %d", got, mine, leaked)
	}
}

// TestRepairMissingPort checks that the port of a service is allocated again.
func TestRepairMissingPort(t *testing.T) {
	r, p, _ := allocating(t)
	port := nodePortService(t, r, "x").Spec.Ports[0].NodePort
	setPort(t, r, port, 0)
	repair(t, p)
	if got := takenPorts(t, r); len(got) != 1 || got[0] != port {
		t.Errorf("%v are taken, want %d", got, port)
	}
}

// TestRepairAddresses checks that IPAddress objects are created for addresses in use, and
// that old ones without an owner are deleted if this server's kind created them.
func TestRepairAddresses(t *testing.T) {
	r, p, now := allocating(t)
	svc := nodePortService(t, r, "x")
	mine := r.address(t, svc.Spec.ClusterIP)
	others := slices.DeleteFunc([]string{"10.0.0.250", "10.0.0.251", "10.0.0.252"}, func(a string) bool { return a == svc.Spec.ClusterIP })
	lost, foreign := r.address(t, others[0]), r.address(t, others[1])
	gone := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "gone", Namespace: "ns"}}
	create(t, r, lost, AllocatedIPAddress(netip.MustParseAddr(lost.Name), "services", gone))
	create(t, r, foreign, &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: foreign.Name},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Group: "example.com", Resource: "gateways", Name: "g"}}})
	if _, err := r.Delete(t.Context(), mine, registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	repair(t, p)
	if stored(t, r, mine) == nil {
		t.Error("the address of a service is not allocated again")
	}
	if stored(t, r, lost) == nil {
		t.Error("a new address without an owner was released")
	}
	*now = now.Add(leakAge + time.Second)
	repair(t, p)
	if stored(t, r, lost) != nil {
		t.Error("an old address without an owner is still allocated")
	}
	if stored(t, r, foreign) == nil {
		t.Error("an address of another manager was released")
	}
	if stored(t, r, mine) == nil {
		t.Error("the address of a service was released")
	}
}

// TestRepairAddressOfAnother checks that an IPAddress object with another owner is replaced
// by one of the service that uses the address.
func TestRepairAddressOfAnother(t *testing.T) {
	r, p, _ := allocating(t)
	svc := nodePortService(t, r, "x")
	at := r.address(t, svc.Spec.ClusterIP)
	if _, err := r.Delete(t.Context(), at, registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "gone", Namespace: "ns"}}
	create(t, r, at, AllocatedIPAddress(netip.MustParseAddr(at.Name), "services", gone))
	repair(t, p)
	if got := stored(t, r, at).(*networkingv1.IPAddress).Spec.ParentRef; got.Name != "x" {
		t.Errorf("the address is that of %v", got)
	}
}

// TestRepairMetrics checks that repairs count the errors that they find, each by its type.
func TestRepairMetrics(t *testing.T) {
	r, p, now := allocating(t)
	svc := nodePortService(t, r, "x")
	address, port := svc.Spec.ClusterIP, svc.Spec.Ports[0].NodePort
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(r.allocator.metrics); err != nil {
		t.Fatal(err)
	}
	repair(t, p)
	counted := func(want map[string]float64) {
		t.Helper()
		all, err := seriestest.Read(reg)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for name, value := range all {
			if _, kind, ok := strings.Cut(name, "_repair_"); ok && value > 0 {
				kind, _ = strings.CutSuffix(strings.Replace(kind, `_errors_total{type="`, " ", 1), `"}`)
				got[kind] = value
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
	}
	counted(map[string]float64{})
	// The allocations of a service are lost.
	setPort(t, r, port, 0)
	if _, err := r.Delete(t.Context(), r.address(t, address), registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	repair(t, p)
	counted(map[string]float64{"ip repair": 1, "port repair": 1})
	// Another service uses the same address and port, and the first is deleted without a release.
	twin := svc.DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Name: "twin", Namespace: svc.Namespace, UID: "twin", CreationTimestamp: svc.CreationTimestamp}
	storeRaw(t, r, r.service(t, "twin"), twin)
	repair(t, p)
	counted(map[string]float64{"ip repair": 1, "port repair": 1, "ip duplicate": 1, "port duplicate": 1})
	for _, name := range []string{"x", "twin"} {
		if _, err := r.Delete(t.Context(), r.service(t, name), registry.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// An address and a port without owners are released.
	setPort(t, r, port, 1)
	gone := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "gone", Namespace: "ns"}}
	create(t, r, r.address(t, "10.0.0.200"), AllocatedIPAddress(netip.MustParseAddr("10.0.0.200"), "services", gone))
	*now = now.Add(leakAge + time.Second)
	for range leakRounds {
		repair(t, p)
	}
	counted(map[string]float64{"ip repair": 1, "port repair": 1, "ip duplicate": 1, "port duplicate": 1, "ip leak": 1, "port leak": 1})
	// A service has an address of another family, and one an address and a port outside of the ranges.
	twin.Spec.ClusterIP, twin.Spec.ClusterIPs = "fd00::1", []string{"fd00::1"}
	twin.Spec.Ports[0].NodePort = r.allocator.o.Pools.LastPort + 1
	storeRaw(t, r, r.service(t, "twin"), twin)
	other := twin.DeepCopy()
	other.UID, other.Spec.ClusterIP, other.Spec.ClusterIPs = "other", "10.0.1.1", []string{"10.0.1.1"}
	other.Spec.Ports[0].NodePort = 0
	storeRaw(t, r, r.service(t, "other"), other)
	repair(t, p)
	counted(map[string]float64{"ip repair": 1, "port repair": 1, "ip duplicate": 1, "port duplicate": 1, "ip leak": 1, "port leak": 1,
		"ip invalid": 1, "ip outOfRange": 1, "port outOfRange": 1})
	if _, err := r.Get(t.Context(), r.address(t, "10.0.1.1"), storage.Read{}); !apierrors.IsNotFound(err) {
		t.Errorf("an address outside of the ranges is allocated: %v", err)
	}
}

// TestRepairerRuns checks that Run repairs at once and ends with its context.
func TestRepairerRuns(t *testing.T) {
	r, p, _ := allocating(t)
	port := nodePortService(t, r, "x").Spec.Ports[0].NodePort
	setPort(t, r, port, 0)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx, time.Hour, nil) }()
	for len(takenPorts(t, r)) == 0 {
		time.Sleep(time.Millisecond)
	}
	end()
	<-done
}
