package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const endpoints = `subsets:
- addresses: [{ip: 10.0.0.1}]
  ports: [{port: 80}]`

func TestEndpointsRules(t *testing.T) {
	kindtest.New(t, "endpoints.v1", endpoints).Create(kindtest.Rules{
		{"addresses", "subsets[0].addresses: null; subsets[0].notReadyAddresses: [{ip: 10.0.0.1}]",
			"subsets[0].addresses: null",
			"subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"},
		{"address", "subsets[0].addresses[0].ip: fd00::1", "subsets[0].addresses[0].ip: a",
			`subsets[0].addresses[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 ` +
				`or 2001:db8::ffff); subsets[0].addresses[0].ip: Invalid value: "a": must be a valid IP address`},
		{"no address", "subsets[0].addresses[0].ip: 10.0.0.2", `subsets[0].addresses[0].ip: ""`,
			`subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 ` +
				`or 2001:db8::ffff); subsets[0].addresses[0].ip: Invalid value: "": must be a valid IP address`},
		{"unspecified", "subsets[0].addresses[0].ip: 10.0.0.2", "subsets[0].addresses[0].ip: 0.0.0.0",
			`subsets[0].addresses[0].ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)`},
		{"loopback", "subsets[0].addresses[0].ip: 10.0.0.2", "subsets[0].addresses[0].ip: 127.0.0.1",
			`subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range ` +
				"(127.0.0.0/8, ::1/128)"},
		{"link-local", "subsets[0].addresses[0].ip: 10.0.0.2", "subsets[0].addresses[0].ip: 169.254.0.1",
			`subsets[0].addresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local ` +
				"range (169.254.0.0/16, fe80::/10)"},
		{"multicast", "subsets[0].addresses[0].ip: 10.0.0.2", "subsets[0].notReadyAddresses: [{ip: 224.0.0.1}]",
			`subsets[0].notReadyAddresses[0].ip: Invalid value: "224.0.0.1": may not be in the ` +
				"link-local multicast range (224.0.0.0/24, ff02::/10)"},
		{"hostname", "subsets[0].addresses[0].hostname: a", "subsets[0].addresses[0].hostname: a.b",
			`subsets[0].addresses[0].hostname: Invalid value: "a.b": must not contain dots`},
		{"nodeName", "subsets[0].addresses[0].nodeName: a.b", "subsets[0].addresses[0].nodeName: A",
			`subsets[0].addresses[0].nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"port", "subsets[0].ports[0].port: 65535", "subsets[0].ports[0].port: 0",
			"subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"},
		{"protocol", "subsets[0].ports[0].protocol: SCTP", "subsets[0].ports[0].protocol: HTTP",
			`subsets[0].ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"`},
		{"name of a port", "subsets[0].ports[0].name: a", "subsets[0].ports[0].name: A",
			`subsets[0].ports[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of ` +
				"lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
				"character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"names of ports", "subsets[0].ports: [{name: a, port: 1}, {name: b, port: 2}]",
			"subsets[0].ports: [{name: a, port: 1}, {port: 2}]", "subsets[0].ports[1].name: Required value"},
		{"appProtocol", "subsets[0].ports[0].appProtocol: example.com/a", "subsets[0].ports[0].appProtocol: a b",
			`subsets[0].ports[0].appProtocol: Invalid value: "a b": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

func TestEndpointsUpdateRules(t *testing.T) {
	kindtest.New(t, "endpoints.v1", endpoints).Update(kindtest.Rules{
		{"address", "subsets[0].addresses[0].ip: 10.0.0.2", "subsets[0].addresses[0].ip: 127.0.0.1",
			`subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range ` +
				"(127.0.0.0/8, ::1/128)"},
		{"hostname", "metadata.labels: {a: b}", "subsets[0].addresses[0].hostname: a.b",
			`subsets[0].addresses[0].hostname: Invalid value: "a.b": must not contain dots`},
	})
}

func TestEndpointsCreated(t *testing.T) {
	kindtest.New(t, "endpoints.v1", endpoints).Created(kindtest.Cases{
		{"protocol", "", "subsets[0].ports[0].protocol: TCP"},
	})
}

func TestEndpointsWarnings(t *testing.T) {
	kindtest.New(t, "endpoints.v1", endpoints).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"form of an address", `subsets[0].addresses[0].ip: "fd00::0:1"`,
			`subsets[0].addresses[0].ip: IPv6 address "fd00::0:1" should be in RFC 5952 canonical format ` +
				`("fd00::1")`},
	})
}

func TestEndpointsUpdateWarnings(t *testing.T) {
	kindtest.New(t, "endpoints.v1", endpoints).UpdateWarnings(kindtest.Cases{
		{"form of an address", `subsets[0].notReadyAddresses: [{ip: "fd00::0:1"}]`,
			`subsets[0].notReadyAddresses[0].ip: IPv6 address "fd00::0:1" should be in RFC 5952 ` +
				`canonical format ("fd00::1")`},
	})
}

func TestEndpointsColumns(t *testing.T) {
	kindtest.New(t, "endpoints.v1", endpoints).Columns("Name|Endpoints|Age", kindtest.Cases{
		{"one", "", "x|10.0.0.1:80|60m"},
		{"several",
			"subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], ports: [{name: a, port: 1}, {name: " +
				"b, port: 2}]}]", "x|10.0.0.1:1,10.0.0.2:1,10.0.0.1:2 + 1 more...|60m"},
		{"no ports", "subsets: [{addresses: [{ip: 10.0.0.1}]}]", "x|10.0.0.1|60m"},
		{"none", "subsets: null", "x|<none>|60m"},
		{"version 6", "subsets[0].addresses: [{ip: fd00::1}]", "x|[fd00::1]:80|60m"},
	})
}

// TestEndpointsAddresses checks the addresses and ports of a subset.
func TestEndpointsAddresses(t *testing.T) {
	k := kindtest.New(t, "endpoints.v1", endpoints).With(
		"subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]")
	k.Create(kindtest.Rules{
		{"loopback", `subsets[0].addresses[0].ip: "fd00::1"`, `subsets[0].addresses[0].ip: "::1"`,
			`subsets[0].addresses[0].ip: Invalid value: "::1": may not be in the loopback range ` +
				"(127.0.0.0/8, ::1/128)"},
		{"link-local", "subsets[0].addresses[0].ip: 10.0.0.2", `subsets[0].addresses[0].ip: "fe80::1"`,
			`subsets[0].addresses[0].ip: Invalid value: "fe80::1": may not be in the link-local range ` +
				"(169.254.0.0/16, fe80::/10)"},
		{"addresses that are not ready", "subsets[0]: {notReadyAddresses: [{ip: 10.0.0.1}]}",
			"subsets[0]: {ports: [{port: 80}]}",
			"subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"},
		{"hostname", "subsets[0].addresses[0].hostname: a", "subsets[0].addresses[0].hostname: a.b",
			`subsets[0].addresses[0].hostname: Invalid value: "a.b": must not contain dots`},
		{"node", "subsets[0].addresses[0].nodeName: a.b", "subsets[0].addresses[0].nodeName: A",
			`subsets[0].addresses[0].nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"names of two ports", "subsets[0].ports: [{name: a, port: 80}, {name: b, port: 81}]",
			"subsets[0].ports: [{port: 80}, {port: 81}]",
			"subsets[0].ports[0].name: Required value; subsets[0].ports[1].name: Required value"},
		{"protocol", "subsets[0].ports: [{port: 80, protocol: UDP}]",
			"subsets[0].ports: [{port: 80, protocol: ICMP}]",
			`subsets[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`},
		{"application protocol", "subsets[0].ports: [{port: 80, appProtocol: a.b/c}]",
			`subsets[0].ports: [{port: 80, appProtocol: "a b"}]`,
			`subsets[0].ports[0].appProtocol: Invalid value: "a b": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

// TestEndpointsCells checks what tables show of endpoints.
func TestEndpointsCells(t *testing.T) {
	kindtest.New(t, "endpoints.v1", endpoints).Columns("Name|Endpoints|Age", kindtest.Cases{
		{"none ready", "subsets: [{notReadyAddresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]", "x||60m"},
		{"address of version 6", `subsets: [{addresses: [{ip: 10.0.0.1}, {ip: "fd00::1"}], ports: [{port: 80}]}]`,
			"x|10.0.0.1:80,[fd00::1]:80|60m"},
		{"more than three",
			"subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], ports: [{name: a, port: 80}, {name: " +
				"b, port: 81}]}, {addresses: [{ip: 10.0.0.3}]}]",
			"x|10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 2 more...|60m"},
		{"without ports", "subsets: [{addresses: [{ip: 10.0.0.1}]}]", "x|10.0.0.1|60m"},
	})
}
