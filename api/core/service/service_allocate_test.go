package service

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// families implements Allocator with some address families and no addresses.
type families struct {
	api.Allocator
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
		{"no address but a selector", one, corev1.ServiceSpec{ClusterIP: none, ClusterIPs: []string{none}, Selector: map[string]string{"a": "b"}, IPFamilies: []corev1.IPFamily{v6}},
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
		{"gives one up", spec(&require, v4, v6), spec(&require, v4), `spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be 'SingleStack' to release the secondary cluster IP; ` +
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

// TestForbiddenNodePort checks that the ports of a service without node ports are left to
// validation.
func TestForbiddenNodePort(t *testing.T) {
	s := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Port: 80, NodePort: 2}}}}
	// An allocation would fail: families has no ports.
	if errs, err := allocatePorts(t.Context(), families{}, s, &corev1.ServiceSpec{}); len(errs) > 0 || err != nil {
		t.Errorf("got %v, %v", errs, err)
	}
}

// recorder implements Allocator, and remembers the addresses that are asked for and given back.
type recorder struct {
	families
	asked, released []string
}

func (r *recorder) AllocateIP(_ context.Context, _ string, requested netip.Addr, _ api.Object) (netip.Addr, error) {
	r.asked = append(r.asked, requested.String())
	return requested, nil
}

func (r *recorder) ReleaseIP(ip netip.Addr, _ api.Object) {
	r.released = append(r.released, ip.String())
}

// TestAddressForms checks that an address with leading zeros and an IPv4-mapped address allocate the
// IPv4 address that they stand for.
func TestAddressForms(t *testing.T) {
	for text, want := range map[string]string{"010.0.0.5": "10.0.0.5", "::ffff:10.0.0.6": "10.0.0.6", "10.0.0.7": "10.0.0.7"} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: text, ClusterIPs: []string{text}, Ports: []corev1.ServicePort{{Port: 1}}}}
		from := &recorder{families: families{list: []string{"IPv4"}}}
		allocate := allocateService(validation.StrictnessOf(nil))
		if err := allocate(t.Context(), from, svc, nil); err != nil || !slices.Equal(from.asked, []string{want}) || svc.Spec.ClusterIP != text || svc.Spec.IPFamilies[0] != corev1.IPv4Protocol {
			t.Errorf("%s: %v, asked for %q, got %+v", text, err, from.asked, svc.Spec)
		}
		releaseService(from, svc)
		if !slices.Equal(from.released, []string{want}) {
			t.Errorf("%s: released %q", text, from.released)
		}
		if err := allocateService(validation.Strictness{})(t.Context(), from, svc.DeepCopy(), nil); (err == nil) != (text == want) {
			t.Errorf("%s, strictly: %v", text, err)
		}
	}
}
