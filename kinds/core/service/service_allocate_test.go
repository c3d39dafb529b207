package service

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// families implements Allocator with some address families and no addresses.
type families struct {
	Allocator
	list []string
}

func (f families) Families() []string { return f.list }

func TestChooseFamilies(t *testing.T) {
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	single, prefer, require := corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack
	one, both := []string{"IPv4"}, []string{"IPv4", "IPv6"}
	const none = corev1.ClusterIPNone
	for _, c := range []struct {
		name      string
		available []string
		spec      corev1.ServiceSpec
		want      string // policy and families, or the errors
	}{
		{"nothing said", one, corev1.ServiceSpec{}, "SingleStack IPv4"},
		{"nothing said, two ranges", both, corev1.ServiceSpec{}, "SingleStack IPv4"},
		{"prefer", one, corev1.ServiceSpec{IPFamilyPolicy: &prefer}, "PreferDualStack IPv4"},
		{"prefer, two ranges", both, corev1.ServiceSpec{IPFamilyPolicy: &prefer}, "PreferDualStack IPv4 IPv6"},
		{"the other family", both, corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{v6}}, "SingleStack IPv6"},
		{"an address of the other family", both, corev1.ServiceSpec{ClusterIPs: []string{"fd00::1"}}, "SingleStack IPv6"},
		{"a family that is not there", one, corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{v6}},
			`spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`},
		{"an address that is not there", one, corev1.ServiceSpec{ClusterIPs: []string{"fd00::1"}},
			`spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster`},
		{"require", one, corev1.ServiceSpec{IPFamilyPolicy: &require},
			`spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`},
		{"two families without a policy", both, corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{v4, v6}, ClusterIPs: []string{"10.0.0.1", "fd00::1"}},
			`spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified; ` +
				`spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`},
		{"two families", one, corev1.ServiceSpec{IPFamilyPolicy: &require, IPFamilies: []corev1.IPFamily{v4, v6}},
			`spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services; ` +
				`spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster`},
		{"two families of one", both, corev1.ServiceSpec{IPFamilyPolicy: &single, IPFamilies: []corev1.IPFamily{v4, v6}},
			`spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`},
		{"no address and no selector", one, corev1.ServiceSpec{ClusterIP: none, ClusterIPs: []string{none}}, "RequireDualStack IPv4 IPv6"},
		{"no address, the other family", one, corev1.ServiceSpec{ClusterIP: none, ClusterIPs: []string{none}, IPFamilies: []corev1.IPFamily{v6}}, "RequireDualStack IPv6 IPv4"},
		{"no address but a selector", one, corev1.ServiceSpec{ClusterIP: none, ClusterIPs: []string{none},
			Selector: map[string]string{"a": "b"}, IPFamilies: []corev1.IPFamily{v6}},
			`spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`},
	} {
		var got []string
		for _, err := range chooseFamilies(families{list: c.available}, &c.spec, &corev1.ServiceSpec{}) {
			got = append(got, err.Error())
		}
		text := strings.Join(got, "; ")
		if len(got) == 0 {
			text = string(*c.spec.IPFamilyPolicy)
			for _, f := range c.spec.IPFamilies {
				text += " " + string(f)
			}
		}
		if text != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
}

func TestChooseFamiliesOfChanged(t *testing.T) {
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	prefer, require := corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack
	spec := func(policy *corev1.IPFamilyPolicy, families ...corev1.IPFamily) corev1.ServiceSpec {
		s := corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, IPFamilyPolicy: policy, IPFamilies: families}
		for _, f := range families {
			s.ClusterIPs = append(s.ClusterIPs, map[corev1.IPFamily]string{v4: "10.0.0.1", v6: "fd00::1"}[f])
		}
		return s
	}
	for _, c := range []struct {
		name         string
		old, updated corev1.ServiceSpec
		want         string
	}{
		{"prefers, as before", spec(&prefer, v4), spec(&prefer, v4), "PreferDualStack IPv4"},
		{"prefers now", spec(nil, v4), spec(&prefer, v4), "PreferDualStack IPv4 IPv6"},
		{"policy of before", spec(&prefer, v4, v6), spec(nil, v4, v6), "PreferDualStack IPv4 IPv6"},
		{"gives one up", spec(&require, v4, v6), spec(&require, v4),
			`spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be 'SingleStack' to release the secondary cluster IP; ` +
				`spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be 'SingleStack' to release the secondary IP family`},
	} {
		var got []string
		for _, err := range chooseFamilies(families{list: []string{"IPv4", "IPv6"}}, &c.updated, &c.old) {
			got = append(got, err.Error())
		}
		text := strings.Join(got, "; ")
		if len(got) == 0 {
			text = string(*c.updated.IPFamilyPolicy)
			for _, f := range c.updated.IPFamilies {
				text += " " + string(f)
			}
		}
		if text != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
}

// TestNoLaterAddress checks that an update gives no address to a service that was created without one,
// by a write of its status.
func TestNoLaterAddress(t *testing.T) {
	single := corev1.IPFamilyPolicySingleStack
	stored := corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, IPFamilyPolicy: &single,
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}}
	svc := &corev1.Service{Spec: *stored.DeepCopy()}
	// An allocation would fail: families has no addresses.
	if errs, err := allocateAddresses(t.Context(), families{}, svc, &stored, false); len(errs) > 0 || err != nil ||
		len(svc.Spec.ClusterIPs) > 0 {
		t.Errorf("got %v, %v, %v", svc.Spec.ClusterIPs, errs, err)
	}
}

// TestForbiddenNodePort checks that the ports of a service without node ports are left to
// validation.
func TestForbiddenNodePort(t *testing.T) {
	s := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Port: 80, NodePort: 2}}}}
	// An allocation would fail: families has no ports.
	if errs, err := allocatePorts(t.Context(), families{}, s, &corev1.ServiceSpec{}, true); len(errs) > 0 || err != nil {
		t.Errorf("got %v, %v", errs, err)
	}
}

// portRange implements Allocator with the ports from 30000 to 30009.
type portRange struct {
	families
	used     map[int32]bool
	released []int32
}

func (p *portRange) AllocatePort(_ context.Context, requested int32) (int32, error) {
	for free := int32(30000); requested == 0; free++ {
		if !p.used[free] {
			requested = free
		}
	}
	switch {
	case requested < 30000 || requested > 30009:
		return 0, &AllocationError{Reason: "not in the range"}
	case p.used[requested]:
		return 0, &AllocationError{Reason: "already allocated"}
	}
	p.used[requested] = true
	return requested, nil
}

func (p *portRange) ReleasePort(port int32) { p.released = append(p.released, port) }

// TestNodePorts checks which node ports a new and a changed service get. A port is written
// PORT/PROTOCOL:NODEPORT.
func TestNodePorts(t *testing.T) {
	parse := func(text string) (out []corev1.ServicePort) {
		for _, f := range strings.Fields(text) {
			var p corev1.ServicePort
			if _, err := fmt.Sscanf(f, "%d/%3s:%d", &p.Port, &p.Protocol, &p.NodePort); err != nil {
				t.Fatal(f, err)
			}
			out = append(out, p)
		}
		return out
	}
	for _, c := range []struct{ old, ports, want string }{
		{"", "80/TCP:0 81/TCP:0", "80/TCP:30000 81/TCP:30001"},
		{"", "80/TCP:0 80/UDP:0", "80/TCP:30000 80/UDP:30000"},
		{"", "80/TCP:0 80/UDP:30005", "80/TCP:30005 80/UDP:30005"},
		{"", "80/TCP:30004 80/UDP:30005", "80/TCP:30004 80/UDP:30005"},
		{"", "80/TCP:0 80/TCP:0", "80/TCP:30000 80/TCP:30000"}, // validation refuses them
		{"", "80/TCP:30004 80/TCP:30004", "80/TCP:30004 80/TCP:30004"},
		{"", "80/TCP:30004 81/TCP:30004", "spec.ports[1].nodePort: Invalid value: 30004: already allocated"},
		{"", "80/TCP:5 81/TCP:6", "spec.ports[0].nodePort: Invalid value: 5: not in the range"},
		{"", "80/TCP:0 80/UDP:6", "spec.ports[0].nodePort: Invalid value: 6: not in the range"},
		{"80/TCP:30000", "80/TCP:30000 81/TCP:0", "80/TCP:30000 81/TCP:30001"},
		{"80/TCP:30000", "80/TCP:30000 80/UDP:0", "80/TCP:30000 80/UDP:30001"},
		{"80/TCP:30000", "80/TCP:30003 80/UDP:30003", "80/TCP:30003 80/UDP:30003 released 30000"},
		{"80/TCP:30000", "80/TCP:30003 81/TCP:30003", "80/TCP:30003 81/TCP:30003 released 30000"}, // validation refuses them
		{"80/TCP:30000", "80/TCP:5", "spec.ports[0].nodePort: Invalid value: 5: not in the range"},
	} {
		from := &portRange{used: map[int32]bool{}}
		old := corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: parse(c.old)}
		for _, p := range old.Ports {
			from.used[p.NodePort] = true
		}
		s := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: parse(c.ports)}}
		errs, err := allocatePorts(t.Context(), from, s, &old, c.old == "")
		var got []string
		for _, p := range s.Spec.Ports {
			got = append(got, fmt.Sprintf("%d/%s:%d", p.Port, p.Protocol, p.NodePort))
		}
		for _, p := range from.released {
			got = append(got, "released", fmt.Sprint(p))
		}
		if len(errs) > 0 {
			got = []string{errs.ToAggregate().Error()}
		}
		if text := strings.Join(got, " "); text != c.want || err != nil {
			t.Errorf("%s -> %s: got %s, %v, want %s", c.old, c.ports, text, err, c.want)
		}
	}
}

// recorder implements Allocator, and remembers the addresses that are asked for and given back.
type recorder struct {
	families
	asked, released []string
}

func (r *recorder) AllocateIP(_ context.Context, _ string, requested netip.Addr, _ *corev1.Service) (netip.Addr, error) {
	r.asked = append(r.asked, requested.String())
	return requested, nil
}

func (r *recorder) ReleaseIP(ip netip.Addr, _ *corev1.Service) {
	r.released = append(r.released, ip.String())
}

// TestAddressForms checks that an address with leading zeros and an IPv4-mapped address allocate the
// IPv4 address that they stand for.
func TestAddressForms(t *testing.T) {
	for text, want := range map[string]string{"010.0.0.5": "10.0.0.5", "::ffff:10.0.0.6": "10.0.0.6", "10.0.0.7": "10.0.0.7"} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: text, ClusterIPs: []string{text}, Ports: []corev1.ServicePort{{Port: 1}}}}
		from := &recorder{families: families{list: []string{"IPv4"}}}
		if err := Allocate(t.Context(), features.Gates{}, from, svc, nil); err != nil || !slices.Equal(from.asked, []string{want}) ||
			svc.Spec.ClusterIP != text || svc.Spec.IPFamilies[0] != corev1.IPv4Protocol {
			t.Errorf("%s: %v, asked for %q, got %+v", text, err, from.asked, svc.Spec)
		}
		Release(from, svc)
		if !slices.Equal(from.released, []string{want}) {
			t.Errorf("%s: released %q", text, from.released)
		}
		if err := Allocate(t.Context(), features.Default(), from, svc.DeepCopy(), nil); (err == nil) != (text == want) {
			t.Errorf("%s, strictly: %v", text, err)
		}
	}
}
