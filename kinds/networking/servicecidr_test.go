package networking_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const serviceCIDR = `spec: {cidrs: [10.100.0.0/24]}`

func TestServiceCIDRRules(t *testing.T) {
	kindtest.New(t, "servicecidrs.v1.networking.k8s.io", serviceCIDR).Create(kindtest.Rules{
		{"cidr", `spec.cidrs: ["fd00::/64"]`, "spec.cidrs: [10.100.0.0]",
			`spec.cidrs[0]: Invalid value: "10.100.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 ` +
				"or 2001:db8::/64)"},
		{"no cidrs", `spec.cidrs: [10.100.0.0/24, "fd00::/64"]`, "spec.cidrs: []",
			"spec.cidrs: Required value: at least one CIDR required"},
		{"three cidrs", `spec.cidrs: [10.100.0.0/24, "fd00::/64"]`,
			`spec.cidrs: [10.100.0.0/24, "fd00::/64", 10.101.0.0/24]`,
			`spec.cidrs: Invalid value: {"CIDRs":["10.100.0.0/24","fd00::/64","10.101.0.0/24"]}: may ` +
				"only hold up to 2 values"},
		{"two of a family", `spec.cidrs: [10.100.0.0/24, "fd00::/64"]`, "spec.cidrs: [10.100.0.0/24, 10.101.0.0/24]",
			`spec.cidrs: Invalid value: ["10.100.0.0/24","10.101.0.0/24"]: may specify no more than one ` +
				"IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"},
		{"form of a cidr", "spec.cidrs: [10.100.0.0/24]", "spec.cidrs: [10.100.0.1/24]",
			`spec.cidrs[0]: Invalid value: "10.100.0.1/24": must not have bits set beyond the prefix length`},
		{"three ranges", `spec.cidrs: [10.100.0.0/24, "fd00::/64"]`,
			`spec.cidrs: [10.100.0.0/24, "fd00::/64", 10.101.0.0/24]`,
			`spec.cidrs: Invalid value: {"CIDRs":["10.100.0.0/24","fd00::/64","10.101.0.0/24"]}: may ` +
				"only hold up to 2 values"},
		{"one of each family", `spec.cidrs: ["fd00::/64", 10.100.0.0/24]`,
			"spec.cidrs: [10.100.0.0/24, 10.101.0.0/24]",
			`spec.cidrs: Invalid value: ["10.100.0.0/24","10.101.0.0/24"]: may specify no more than one ` +
				"IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"},
		{"malformed range", "spec.cidrs: [10.100.0.0/24]", "spec.cidrs: [10.100.0.0, 10.101.0.0/24]",
			`spec.cidrs[0]: Invalid value: "10.100.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 ` +
				"or 2001:db8::/64)"},
		{"host bits", "spec.cidrs: [10.100.0.0/30]", "spec.cidrs: [10.100.0.1/24]",
			`spec.cidrs[0]: Invalid value: "10.100.0.1/24": must not have bits set beyond the prefix length`},
		{"no range", `spec.cidrs: ["fd00::/112"]`, "spec.cidrs: []",
			"spec.cidrs: Required value: at least one CIDR required"},
	})
}

func TestServiceCIDRUpdateRules(t *testing.T) {
	kindtest.New(t, "servicecidrs.v1.networking.k8s.io", serviceCIDR).Update(kindtest.Rules{
		{"cidrs", "metadata.labels: {a: b}", "spec.cidrs: [10.101.0.0/24]",
			`spec.cidrs[0]: Invalid value: "10.101.0.0/24": field is immutable`},
		{"second range", `spec.cidrs: [10.100.0.0/24, "fd00::/64"]`, "spec.cidrs: [10.100.0.0/24, 10.101.0.0/24]",
			`spec.cidrs: Invalid value: ["10.100.0.0/24","10.101.0.0/24"]: may specify no more than one ` +
				"IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"},
		{"first range", "metadata.labels: {a: b}", "spec.cidrs: [10.101.0.0/24]",
			`spec.cidrs[0]: Invalid value: "10.101.0.0/24": field is immutable`},
		{"no range", "metadata.labels: {a: b}", "spec.cidrs: []",
			"spec.cidrs: Invalid value: []: field is immutable"},
	})
}

func TestServiceCIDRStatusRules(t *testing.T) {
	kindtest.New(t, "servicecidrs.v1.networking.k8s.io", serviceCIDR).UpdateStatus(kindtest.Rules{})
}

func TestServiceCIDRCreated(t *testing.T) {
	kindtest.New(t, "servicecidrs.v1.networking.k8s.io", serviceCIDR).Created(kindtest.Cases{
		{"status",
			`status.conditions: [{type: Ready, status: "True", reason: A, lastTransitionTime: ` +
				`"2026-05-04T11:00:00Z", message: ""}]`, "status.conditions: null"},
	})
}

func TestServiceCIDRColumns(t *testing.T) {
	kindtest.New(t, "servicecidrs.v1.networking.k8s.io", serviceCIDR).Columns("Name|CIDRs|Age", kindtest.Cases{
		{"one", "", "x|10.100.0.0/24|60m"},
		{"two", `spec.cidrs: [10.100.0.0/24, "fd00::/64"]`, "x|10.100.0.0/24,fd00::/64|60m"},
	})
}

// TestDualStackServiceCIDR checks that ranges stay.
func TestDualStackServiceCIDR(t *testing.T) {
	k := kindtest.New(t, "servicecidrs.v1.networking.k8s.io", serviceCIDR).With(
		`spec.cidrs: [10.100.0.0/24, "fd00::/64"]`)
	k.Update(kindtest.Rules{
		{"second range", "metadata.labels: {a: b}", `spec.cidrs: [10.100.0.0/24, "fd01::/64"]`,
			`spec.cidrs[1]: Invalid value: "fd01::/64": field is immutable`},
		{"fewer ranges", "metadata.labels: {a: b}", "spec.cidrs: [10.100.0.0/24]",
			`spec.cidrs: Invalid value: ["10.100.0.0/24"]: field is immutable`},
	})
}

// TestServiceCIDRCells checks that tables show both ranges.
func TestServiceCIDRCells(t *testing.T) {
	kindtest.New(t, "servicecidrs.v1.networking.k8s.io", serviceCIDR).Columns("Name|CIDRs|Age", kindtest.Cases{
		{"two ranges", `spec.cidrs: [10.0.0.0/16, "fd00::/112"]`, "x|10.0.0.0/16,fd00::/112|60m"},
	})
}
