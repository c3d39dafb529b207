package discovery_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const endpointSlice = `addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
ports: [{port: 80}]`

func TestEndpointSliceRules(t *testing.T) {
	kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).Create(kindtest.Rules{
		{"addressType", "addressType: FQDN; endpoints[0].addresses: [a.b]", "addressType: Other",
			`addressType: Unsupported value: "Other": supported values: "FQDN", "IPv4", "IPv6"`},
		{"no addressType", "addressType: IPv6; endpoints[0].addresses: [fd00::1]", `addressType: ""`,
			"addressType: Required value"},
		{"addresses", "endpoints[0].addresses: [10.0.0.1, 10.0.0.2]", "endpoints[0].addresses: []",
			"endpoints[0].addresses: Required value"},
		{"family", "endpoints[0].addresses: [10.0.0.2]", "endpoints[0].addresses: [fd00::1]",
			`endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address`},
		{"version 6", "addressType: IPv6; endpoints[0].addresses: [fd00::1]", "addressType: IPv6",
			`endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address`},
		{"name", "addressType: FQDN; endpoints[0].addresses: [a.b]", "addressType: FQDN; endpoints[0].addresses: [A]",
			`endpoints[0].addresses[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"loopback", "endpoints[0].addresses: [10.0.0.2]", "endpoints[0].addresses: [127.0.0.1]",
			`endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range ` +
				"(127.0.0.0/8, ::1/128)"},
		{"hostname", "endpoints[0].hostname: a", "endpoints[0].hostname: a.b",
			`endpoints[0].hostname: Invalid value: "a.b": must not contain dots`},
		{"nodeName", "endpoints[0].nodeName: a.b", "endpoints[0].nodeName: A",
			`endpoints[0].nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"zone twice", "endpoints[0].hints: {forZones: [{name: a}, {name: b}]}",
			"endpoints[0].hints: {forZones: [{name: a}, {name: a}]}",
			`endpoints[0].hints.forZones[1].name: Duplicate value: "a"`},
		{"node of a hint", "endpoints[0].hints: {forNodes: [{name: a}]}",
			"endpoints[0].hints: {forNodes: [{name: A}]}",
			`endpoints[0].hints.forNodes[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain ` +
				"must consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"name of a port", "ports[0].name: a", "ports[0].name: A",
			`ports[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case ` +
				"alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. " +
				"'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"protocol", "ports[0].protocol: SCTP", "ports[0].protocol: HTTP",
			`ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"`},
		{"appProtocol", "ports[0].appProtocol: a.b/c", `ports[0].appProtocol: "a b"`,
			`ports[0].appProtocol: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"name of a port twice", "ports: [{name: a, port: 1}, {name: b, port: 1}]",
			"ports: [{name: a, port: 1}, {name: a, port: 2}]", `ports[1].name: Duplicate value: "a"`},
		{"malformed address", "endpoints[0].addresses: [10.0.0.2]", "endpoints[0].addresses: [10.0.0]",
			`endpoints[0].addresses[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. ` +
				"10.9.8.7 or 2001:db8::ffff)"},
		{"name of a zone", "endpoints[0].hints: {forZones: [{name: a}]}",
			"endpoints[0].hints: {forZones: [{name: a/b}]}",
			`endpoints[0].hints.forZones[0].name: Invalid value: "a/b": a valid label must be an empty ` +
				"string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"node of a hint twice", "endpoints[0].hints: {forNodes: [{name: a}, {name: b}]}",
			"endpoints[0].hints: {forNodes: [{name: a}, {name: a}]}",
			`endpoints[0].hints.forNodes[1].name: Duplicate value: "a"`},
		{"link-local address", "endpoints[0].addresses: [10.0.0.2]", "endpoints[0].addresses: [169.254.0.1]",
			`endpoints[0].addresses[0]: Invalid value: "169.254.0.1": may not be in the link-local range ` +
				"(169.254.0.0/16, fe80::/10)"},
		{"multicast address", "endpoints[0].addresses: [10.0.0.2]", "endpoints[0].addresses: [224.0.0.1]",
			`endpoints[0].addresses[0]: Invalid value: "224.0.0.1": may not be in the link-local ` +
				"multicast range (224.0.0.0/24, ff02::/10)"},
		{"unspecified address", `addressType: IPv6; endpoints[0].addresses: ["fd00::1"]`,
			`addressType: IPv6; endpoints[0].addresses: ["::"]`,
			`endpoints[0].addresses[0]: Invalid value: "::": may not be unspecified (::)`},
		{"address of the other family", `addressType: IPv6; endpoints[0].addresses: ["fd00::1"]`,
			"addressType: IPv6; endpoints[0].addresses: [10.0.0.1]",
			`endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address`},
	})
}

func TestEndpointSliceUpdateRules(t *testing.T) {
	kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).Update(kindtest.Rules{
		{"addressType", "endpoints: []", "addressType: IPv6; endpoints: [{addresses: [fd00::1]}]",
			"addressType: Invalid value: null: field is immutable"},
		{"address", "endpoints[0].addresses: [10.0.0.3]", "endpoints[0].addresses: [a]",
			`endpoints[0].addresses[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 ` +
				"or 2001:db8::ffff)"},
	})
}

func TestEndpointSliceCreated(t *testing.T) {
	kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).Created(kindtest.Cases{
		{"ports", "", `ports[0].name: ""; ports[0].protocol: TCP; metadata.generation: 1`},
		{"topology is read-only", "endpoints[0].deprecatedTopology: {a: b}", "endpoints[0].deprecatedTopology: null"},
		{"zone", "endpoints[0].zone: a; endpoints[0].nodeName: a", "endpoints[0].zone: a; endpoints[0].nodeName: a"},
		{"own values", "ports[0].name: http; ports[0].protocol: UDP", "ports[0].name: http; ports[0].protocol: UDP"},
	})
}

func TestEndpointSliceUpdated(t *testing.T) {
	kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).Updated(kindtest.Cases{
		{"topology", "endpoints[0].deprecatedTopology: {kubernetes.io/hostname: n1}; endpoints[0].nodeName: n1",
			"endpoints[0].nodeName: n1"},
	})
}

func TestEndpointSliceGenerations(t *testing.T) {
	kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"endpoints", "endpoints: []", "2"},
		{"labels", "metadata.labels: {a: b}", "2"},
		{"annotations", "metadata.annotations: {a: b}", "1"},
		{"ports", "ports: [{port: 81}]", "2"},
		{"topology that is dropped", "endpoints[0].deprecatedTopology: {a: b}", "2"},
	})
}

func TestEndpointSliceWarnings(t *testing.T) {
	kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"name", "addressType: FQDN; endpoints[0].addresses: [a.b]",
			"spec.addressType: FQDN endpoints are deprecated"},
	})
}

func TestEndpointSliceColumns(t *testing.T) {
	k := kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice)
	k.Columns("Name|AddressType|Ports|Endpoints|Age", kindtest.Cases{
		{"one", "", "x|IPv4|80|10.0.0.1|60m"},
		{"more",
			"endpoints: [{addresses: [10.0.0.1, 10.0.0.2]}, {addresses: [10.0.0.3]}, {addresses: " +
				"[10.0.0.4]}]; ports: [{name: a, port: 1}, {name: b, port: 2}]",
			"x|IPv4|1,2|10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...|60m"},
		{"none", "endpoints: []; ports: []", "x|IPv4|<unset>|<unset>|60m"},
		{"name of a port without a number", "ports: [{name: a}]", "x|IPv4|a|10.0.0.1|60m"},
		{"port of any number", "ports: [{}]", "x|IPv4|<unset>|10.0.0.1|60m"},
		{"more than three ports",
			"ports: [{name: a, port: 1}, {name: b, port: 2}, {name: c, port: 3}, {name: d, port: 4}]",
			"x|IPv4|1,2,3 + 1 more...|10.0.0.1|60m"},
	})
}

// TestEndpointSliceBounds checks the bounds of the lists.
func TestEndpointSliceBounds(t *testing.T) {
	kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).Create(kindtest.Rules{
		{"at most 1000 endpoints", "endpoints: [" + strings.Repeat("{addresses: [10.0.0.1]},", 1000) + "]",
			"endpoints: [" + strings.Repeat("{addresses: [10.0.0.1]},", 1001) + "]",
			"endpoints: Too many: 1001: must have at most 1000 items"},
		{"at most 100 addresses", "endpoints[0].addresses: [10.0.0.1, 10.0.0.2]",
			"endpoints[0].addresses: [" + strings.Repeat("10.0.0.1,", 101) + "]",
			"endpoints[0].addresses: Too many: 101: must have at most 100 items"},
		{"at most 100 ports", "ports: []", "ports: [" + strings.Repeat("{port: 1},", 101) + "]",
			`ports[1].name: Duplicate value: ""; ports[2].name: Duplicate value: ""...e: Duplicate ` +
				`value: ""; ports[100].name: Duplicate value: ""`},
		{"at most 8 zones", "endpoints[0].hints: {forZones: [{name: a}]}",
			"endpoints[0].hints: {forZones: [" + strings.Repeat("{name: a},", 9) + "]}",
			"endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"},
		{"at most 8 nodes", "endpoints[0].hints: {forNodes: [{name: a}]}",
			"endpoints[0].hints: {forNodes: [" + strings.Repeat("{name: a},", 9) + "]}",
			"endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items"},
	})
}

// TestEndpointSliceConverted shows what clients of v1beta1 read: the zone and the node are in the topology.
func TestEndpointSliceConverted(t *testing.T) {
	kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).Converted("v1beta1", kindtest.Cases{
		{"zone and node", "endpoints[0].zone: a; endpoints[0].nodeName: a",
			`endpoints[0].topology: {"kubernetes.io/hostname":"a","topology.kubernetes.io/zone":"a"}; ` +
				"endpoints[0].nodeName: a"},
		{"nothing", "", "endpoints[0].topology: null"},
	})
}

// TestEndpointSliceUpdateWarnings checks the warnings about the form of addresses that an older server stored.
func TestEndpointSliceUpdateWarnings(t *testing.T) {
	k := kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice).With(
		`addressType: IPv6; endpoints[0].addresses: ["FD00::1"]`)
	k.UpdateWarnings(kindtest.Cases{
		{"slice of a user", "metadata.labels: {a: b}",
			`endpoints[0].addresses[0]: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")`},
		{"other address", `endpoints[0].addresses: ["fd00::2"]`, ""},
		{"slice of the controller",
			"metadata.labels: {endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}", ""},
		{"slice of the mirroring controller",
			"metadata.labels: {endpointslice.kubernetes.io/managed-by: endpointslicemirroring-controller.k8s.io}",
			""},
	})
}

// TestEndpointSliceLegacyAddresses checks that older forms of addresses are valid without the gate.
func TestEndpointSliceLegacyAddresses(t *testing.T) {
	k := kindtest.New(t, "endpointslices.v1.discovery.k8s.io", endpointSlice, "-StrictIPCIDRValidation")
	k.Create(kindtest.Rules{
		{"leading zeros", "endpoints[0].addresses: [010.0.0.1]", "endpoints[0].addresses: [10.0.0]",
			`endpoints[0].addresses[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. ` +
				"10.9.8.7 or 2001:db8::ffff)"},
	})
}

const oldEndpointSlice = `addressType: IPv4
endpoints:
- addresses: [10.0.0.1]
  nodeName: a
  topology: {topology.kubernetes.io/zone: z, kubernetes.io/hostname: a, rack: '4'}`

// TestOldEndpointSliceConverted shows what v1 has for an object of v1beta1.
func TestOldEndpointSliceConverted(t *testing.T) {
	kindtest.New(t, "endpointslices.v1beta1.discovery.k8s.io", oldEndpointSlice).Converted("v1", kindtest.Cases{
		{"zone and node", "",
			"endpoints[0].zone: z; endpoints[0].nodeName: a; endpoints[0].deprecatedTopology: null"},
		{"host that is not the node", "endpoints[0].topology: {kubernetes.io/hostname: other}",
			"endpoints[0].zone: null; endpoints[0].nodeName: a; endpoints[0].deprecatedTopology: null"},
	})
}
