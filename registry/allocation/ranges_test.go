package allocation

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

func (r *fixture) rangeAt(t *testing.T, name string) registry.Target {
	return r.at(t, RangeResource(), name)
}

func serviceCIDR(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

// setRangeReady sets the condition Ready of a ServiceCIDR.
func setRangeReady(t *testing.T, r *fixture, name string, status metav1.ConditionStatus) {
	t.Helper()
	at := r.rangeAt(t, name)
	at.Status = true
	_, err := r.Update(t.Context(), at, func(_ context.Context, old api.Object) (api.Object, error) {
		old.(*networkingv1.ServiceCIDR).Status.Conditions = []metav1.Condition{{
			Type: networkingv1.ServiceCIDRConditionReady, Status: status, Reason: "Test", LastTransitionTime: metav1.NewTime(noon)}}
		return old, nil
	}, registry.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// dualStackService creates a service with an address of both families: the requested ones, or any.
func dualStackService(t *testing.T, r *fixture, name string, o registry.WriteOptions, ips ...string) ([]string, error) {
	t.Helper()
	at := r.service(t, name)
	policy := corev1.IPFamilyPolicyRequireDualStack
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, IPFamilyPolicy: &policy, ClusterIPs: ips, Ports: []corev1.ServicePort{{Port: 80}}}}
	if len(ips) > 0 {
		svc.Spec.ClusterIP = ips[0]
	}
	at.Resource.Default(svc)
	out, err := r.Create(t.Context(), at, svc, o)
	if err != nil {
		return nil, err
	}
	return out.Object.(*corev1.Service).Spec.ClusterIPs, nil
}

// dualStack returns a registry with ranges of two addresses of each family.
func dualStack(t *testing.T) *fixture {
	t.Helper()
	r := newFixture(t, Pools{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/30"), netip.MustParsePrefix("fd00::/126")}})
	create(t, r, r.rangeAt(t, "kubernetes"), serviceCIDR("kubernetes", "10.0.0.0/30", "fd00::/126"))
	return r
}

// TestAllocateFromAllRanges checks that services have addresses from all ServiceCIDRs that are ready, in
// both families, and from no other.
func TestAllocateFromAllRanges(t *testing.T) {
	r := dualStack(t)
	refused := func(what, want string, o registry.WriteOptions, ips ...string) {
		t.Helper()
		if got, err := dualStackService(t, r, "refused", o, ips...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v", what, got, err)
		}
	}
	allocate := func(name string, want string, ips ...string) {
		t.Helper()
		got, err := dualStackService(t, r, name, registry.WriteOptions{}, ips...)
		if err != nil || !netip.MustParsePrefix(want).Contains(netip.MustParseAddr(got[0])) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	allocate("a", "10.0.0.0/30")
	allocate("b", "10.0.0.0/30")
	const mismatch = "failed to allocate IP 10.1.0.1: the provided network does not match the current range"
	dry := registry.WriteOptions{DryRun: true}
	refused("a full range", `failed to allocate a serviceIP for Service "refused": range is full`, registry.WriteOptions{})
	refused("an address of no range", mismatch, registry.WriteOptions{}, "10.1.0.1", "fd01::1")
	refused("an address of no range in a dry run",
		"the provided IP (10.1.0.1) is not in the valid range. The range of valid IPs is 10.0.0.0/30", dry, "10.1.0.1", "fd01::1")

	create(t, r, r.rangeAt(t, "more"), serviceCIDR("more", "10.1.0.0/29", "fd01::/125"))
	if got, err := dualStackService(t, r, "dry", dry, "10.1.0.1", "fd01::1"); err != nil {
		t.Errorf("a dry run: got %v, %v", got, err)
	}
	allocate("c", "10.1.0.0/29", "10.1.0.1", "fd01::1")
	allocate("d", "10.1.0.0/29")
	refused("an allocated address", "failed to allocate IP 10.1.0.1: provided IP is already allocated",
		registry.WriteOptions{}, "10.1.0.1", "fd01::2")
	refused("the address of the network", "does not match the current range", registry.WriteOptions{}, "10.1.0.0", "fd01::2")
	refused("the broadcast address", "does not match the current range", registry.WriteOptions{}, "10.1.0.7", "fd01::2")

	setRangeReady(t, r, "more", metav1.ConditionFalse)
	refused("a range that is not ready", "range is full", registry.WriteOptions{})
	refused("an address of a range that is not ready", "does not match the current range", registry.WriteOptions{}, "10.1.0.6", "fd01::6")
	create(t, r, r.rangeAt(t, "same"), serviceCIDR("same", "10.1.0.0/29", "fd01::/125"))
	allocate("e", "10.1.0.0/29")
	if _, err := r.Delete(t.Context(), r.rangeAt(t, "same"), registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	refused("a deleted range", "range is full", registry.WriteOptions{})
	setRangeReady(t, r, "more", metav1.ConditionTrue)
	allocate("f", "10.1.0.0/29")
}

// TestTerminatingRange checks that a ServiceCIDR that is being deleted gives out no address, and that
// its services are still right.
func TestTerminatingRange(t *testing.T) {
	r, p, _ := allocating(t)
	more := serviceCIDR("more", "10.1.0.0/24")
	more.Finalizers = []string{"example.com/wait"}
	create(t, r, r.rangeAt(t, "more"), more)
	service := func(name, ip string) error {
		at := r.service(t, name)
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}}}}
		at.Resource.Default(svc)
		_, err := r.Create(t.Context(), at, svc, registry.WriteOptions{})
		return err
	}
	if err := service("before", "10.1.0.9"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Delete(t.Context(), r.rangeAt(t, "more"), registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := service("after", "10.1.0.10"); !apierrors.IsInvalid(err) {
		t.Errorf("allocated an address of a range that is being deleted: %v", err)
	}
	if _, err := r.Delete(t.Context(), r.address(t, "10.1.0.9"), registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if repair(t, p); owner(t, r, "10.1.0.9") != "before" {
		t.Error("the address of a range that is being deleted is not allocated again")
	}
	if _, err := r.Delete(t.Context(), r.service(t, "before"), registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if name := owner(t, r, "10.1.0.9"); name != "" {
		t.Error("the address of a deleted service is allocated to", name)
	}
}

// owner returns the name of the service to which an address is allocated.
func owner(t *testing.T, r *fixture, ip string) string {
	t.Helper()
	item, err := r.Get(t.Context(), r.address(t, ip), storage.Read{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	obj, err := item.Object()
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*networkingv1.IPAddress).Spec.ParentRef.Name
}

// TestRangeArithmetic checks the addresses of ranges of all sizes.
func TestRangeArithmetic(t *testing.T) {
	for _, c := range []struct {
		cidr             string
		usable, reserved int64
		first, last      string
	}{
		{"10.0.0.0/29", 6, 0, "10.0.0.1", "10.0.0.6"},
		{"10.0.0.0/28", 14, 0, "10.0.0.1", "10.0.0.14"},
		{"10.0.0.0/27", 30, 16, "10.0.0.1", "10.0.0.30"},
		{"10.0.0.0/20", 4094, 256, "10.0.0.1", "10.0.15.254"},
		{"10.0.0.0/8", 1<<24 - 2, 256, "10.0.0.1", "10.255.255.254"},
		{"fd00::/126", 3, 0, "fd00::1", "fd00::3"},
		{"fd00::/112", 65535, 256, "fd00::1", "fd00::ffff"},
		{"fd00::/64", math.MaxInt64, 256, "fd00::1", ""},
		{"10.0.0.8/32", 0, 0, "", ""},
	} {
		in := netip.MustParsePrefix(c.cidr)
		usable, reserved := usableAddresses(in), reservedAddresses(in)
		got := fmt.Sprint(usable, reserved)
		if got != fmt.Sprint(c.usable, c.reserved) {
			t.Errorf("%s: %s addresses are usable and reserved", in, got)
		}
		if c.first != "" && addressAt(in, 0).String() != c.first {
			t.Errorf("%s: the first address is %s", in, addressAt(in, 0))
		}
		if c.last != "" && addressAt(in, usable-1).String() != c.last {
			t.Errorf("%s: the last address is %s", in, addressAt(in, usable-1))
		}
		for n := range min(usable, 5) {
			for _, ip := range []netip.Addr{addressAt(in, n), addressAt(in, min(usable, 1<<62)-1-n)} {
				if !IsUsable(in, ip) {
					t.Errorf("%s: %s is not usable", in, ip)
				}
			}
		}
	}
}
