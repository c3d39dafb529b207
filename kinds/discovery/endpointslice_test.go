package discovery_test

import (
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
	})
}
