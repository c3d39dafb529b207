package networking_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const networkPolicy = `spec:
  podSelector: {}
  ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}]`

func TestNetworkPolicyRules(t *testing.T) {
	kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy).Create(kindtest.Rules{
		{"selector", "spec.podSelector: {matchLabels: {a: b}}", `spec.podSelector: {matchLabels: {a: "b c"}}`,
			`spec.podSelector.matchLabels: Invalid value: "b c": a valid label must be an empty string ` +
				"or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"port", "spec.ingress[0].ports: [{port: 65535}]", "spec.ingress[0].ports: [{port: 65536}]",
			"spec.ingress[0].ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive"},
		{"name of a port", "spec.ingress[0].ports: [{port: http}]", "spec.ingress[0].ports: [{port: HTTP}]",
			`spec.ingress[0].ports[0].port: Invalid value: "HTTP": must contain only alpha-numeric ` +
				"characters (a-z, 0-9), and hyphens (-); spec.ingress[0].ports[0].port: Invalid value: " +
				`"HTTP": must contain at least one letter (a-z)`},
		{"protocol", "spec.ingress[0].ports: [{protocol: SCTP}]", "spec.ingress[0].ports: [{protocol: HTTP}]",
			`spec.ingress[0].ports[0].protocol: Unsupported value: "HTTP": supported values: "TCP", "UDP", "SCTP"`},
		{"endPort", "spec.ingress[0].ports: [{port: 1, endPort: 2}]",
			"spec.ingress[0].ports: [{port: 2, endPort: 1}]",
			"spec.ingress[0].ports[0].endPort: Invalid value: 1: must be greater than or equal to `port`"},
		{"endPort without port", "spec.ingress[0].ports: [{port: 1, endPort: 1}]",
			"spec.ingress[0].ports: [{endPort: 1}]",
			"spec.ingress[0].ports[0].endPort: Invalid value: 1: may not be specified when `port` is not specified"},
		{"endPort of a name", "spec.ingress[0].ports: [{port: http}]",
			"spec.ingress[0].ports: [{port: http, endPort: 2}]",
			"spec.ingress[0].ports[0].endPort: Invalid value: 2: may not be specified when `port` is non-numeric"},
		{"large endPort", "spec.ingress[0].ports: [{port: 1, endPort: 65535}]",
			"spec.ingress[0].ports: [{port: 1, endPort: 65536}]",
			"spec.ingress[0].ports[0].endPort: Invalid value: 65536: must be between 1 and 65535, inclusive"},
		{"peer", "spec.ingress[0].from: [{podSelector: {}}]", "spec.ingress[0].from: [{}]",
			"spec.ingress[0].from[0]: Required value: must specify a peer"},
		{"block and selector", "spec.ingress[0].from: [{podSelector: {}, namespaceSelector: {}}]",
			"spec.ingress[0].from[0].podSelector: {}",
			"spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"},
		{"selector of a peer", "spec.ingress[0].from: [{podSelector: {matchLabels: {a: b}}}]",
			"spec.ingress[0].from: [{podSelector: {matchExpressions: [{key: a, operator: Has}]}}]",
			`spec.ingress[0].from[0].podSelector.matchExpressions[0].operator: Invalid value: "Has": not ` +
				"a valid selector operator"},
		{"selector of namespaces", "spec.ingress[0].from: [{namespaceSelector: {matchLabels: {a: b}}}]",
			`spec.ingress[0].from: [{namespaceSelector: {matchLabels: {"a b": c}}}]`,
			`spec.ingress[0].from[0].namespaceSelector.matchLabels: Invalid value: "a b": name part must ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
				"validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"cidr", `spec.ingress[0].from: [{ipBlock: {cidr: "fd00::/8"}}]`,
			"spec.ingress[0].from: [{ipBlock: {cidr: 10.0.0.0}}]",
			`spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR ` +
				"value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"},
		{"no cidr", "spec.ingress[0].from: [{ipBlock: {cidr: 0.0.0.0/0}}]",
			`spec.ingress[0].from: [{ipBlock: {cidr: ""}}]`, "spec.ingress[0].from[0].ipBlock.cidr: Required value"},
		{"exception", "spec.ingress[0].from[0].ipBlock.except: [10.2.0.0/16]",
			"spec.ingress[0].from[0].ipBlock.except: [11.0.0.0/16]",
			`spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict ` +
				"subset of `cidr`"},
		{"form of an exception", "spec.ingress[0].from[0].ipBlock.except: [10.2.0.0/16]",
			"spec.ingress[0].from[0].ipBlock.except: [a]",
			`spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "a": must be a valid CIDR value, ` +
				"(e.g. 10.9.8.0/24 or 2001:db8::/64)"},
		{"whole block as an exception", "spec.ingress[0].from[0].ipBlock.except: [10.0.0.0/9]",
			"spec.ingress[0].from[0].ipBlock.except: [10.0.0.0/8]",
			`spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict ` +
				"subset of `cidr`"},
		{"egress", "spec.egress: [{to: [{podSelector: {}}]}]", "spec.egress: [{to: [{}]}]",
			"spec.egress[0].to[0]: Required value: must specify a peer"},
		{"port of egress", "spec.egress: [{ports: [{port: 1}]}]", "spec.egress: [{ports: [{port: 0}]}]",
			"spec.egress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"},
		{"policy type", "spec.policyTypes: [Ingress, Egress]", "spec.policyTypes: [Other]",
			`spec.policyTypes[0]: Unsupported value: "Other": supported values: "Ingress", "Egress"`},
		{"three policy types", "spec.policyTypes: [Ingress, Egress]", "spec.policyTypes: [Ingress, Egress, Ingress]",
			`spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than ` +
				"two policyTypes"},
	})
}

func TestNetworkPolicyUpdateRules(t *testing.T) {
	kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy).Update(kindtest.Rules{
		{"cidr", "spec.ingress: []", "spec.ingress[0].from[0].ipBlock.cidr: a",
			`spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "a": must be a valid CIDR value, (e.g. ` +
				"10.9.8.0/24 or 2001:db8::/64)"},
	})
}

func TestNetworkPolicyCreated(t *testing.T) {
	kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy).Created(kindtest.Cases{
		{"types", "", `spec.policyTypes: ["Ingress"]; metadata.generation: 1`},
		{"egress", "spec.egress: [{}]", `spec.policyTypes: ["Ingress","Egress"]`},
		{"protocol", "spec.ingress[0].ports: [{port: 1}]", "spec.ingress[0].ports[0].protocol: TCP"},
	})
}

func TestNetworkPolicyGenerations(t *testing.T) {
	kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.egress: [{}]", "2"},
	})
}

func TestNetworkPolicyWarnings(t *testing.T) {
	kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"bits of a cidr", `spec.ingress[0].from: [{ipBlock: {cidr: "fd00::0:0/8"}}]`,
			`spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "fd00::0:0/8" should be in RFC 5952 ` +
				`canonical format ("fd00::/8")`},
	})
}

func TestNetworkPolicyColumns(t *testing.T) {
	k := kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy)
	k.Columns("Name|Pod-Selector|Age", kindtest.Cases{
		{"all", "", "x|<none>|60m"},
		{"labels", "spec.podSelector: {matchLabels: {a: b}}", "x|a=b|60m"},
	})
}

// TestNetworkPolicyEgress checks updates of outgoing connections.
func TestNetworkPolicyEgress(t *testing.T) {
	k := kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy).With(
		"spec.egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]")
	k.Update(kindtest.Rules{
		{"block", `spec.egress[0].to[0].ipBlock.cidr: "fd00::/8"`, "spec.egress[0].to[0].ipBlock.cidr: a",
			`spec.egress[0].to[0].ipBlock.cidr: Invalid value: "a": must be a valid CIDR value, (e.g. ` +
				"10.9.8.0/24 or 2001:db8::/64)"},
		{"peer", "spec.egress[0].to[0]: {podSelector: {}}", "spec.egress[0].to[0]: {}",
			"spec.egress[0].to[0]: Required value: must specify a peer"},
		{"port", "spec.egress[0].ports: [{port: 80}]", "spec.egress[0].ports: [{port: 0}]",
			"spec.egress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"},
	})
}

// TestNetworkPolicyPorts checks the ports of incoming connections.
func TestNetworkPolicyPorts(t *testing.T) {
	k := kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy).With(
		"spec.ingress[0].ports: [{port: 80, endPort: 90}]")
	k.Create(kindtest.Rules{
		{"end of the range", "spec.ingress[0].ports[0].endPort: 80", "spec.ingress[0].ports[0].endPort: 79",
			"spec.ingress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`"},
		{"end without a begin", "spec.ingress[0].ports: [{}]", "spec.ingress[0].ports: [{endPort: 80}]",
			"spec.ingress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is not specified"},
		{"end after a name", "spec.ingress[0].ports: [{port: http}]",
			"spec.ingress[0].ports: [{port: http, endPort: 80}]",
			"spec.ingress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is non-numeric"},
		{"largest port", "spec.ingress[0].ports: [{port: 65535}]", "spec.ingress[0].ports: [{port: 65536}]",
			"spec.ingress[0].ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive"},
		{"name of a port", "spec.ingress[0].ports: [{port: http}]", "spec.ingress[0].ports: [{port: HTTP_}]",
			`spec.ingress[0].ports[0].port: Invalid value: "HTTP_": must contain only alpha-numeric ` +
				"characters (a-z, 0-9), and hyphens (-); spec.ingress[0].ports[0].port: Invalid value: " +
				`"HTTP_": must contain at least one letter (a-z)`},
		{"protocol", "spec.ingress[0].ports: [{protocol: SCTP}]", "spec.ingress[0].ports: [{protocol: ICMP}]",
			`spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"`},
	})
}

// TestNetworkPolicyPeers checks the peers of outgoing connections.
func TestNetworkPolicyPeers(t *testing.T) {
	k := kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy).With(
		"spec.egress: [{to: [{podSelector: {}}]}]")
	k.Create(kindtest.Rules{
		{"selector of pods", "spec.egress[0].to[0].podSelector: {matchLabels: {a: b}}",
			`spec.egress[0].to[0].podSelector: {matchLabels: {a: "b c"}}`,
			`spec.egress[0].to[0].podSelector.matchLabels: Invalid value: "b c": a valid label must be ` +
				"an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
				"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used " +
				"for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"selector of namespaces", "spec.egress[0].to[0].namespaceSelector: {matchLabels: {a: b}}",
			`spec.egress[0].to[0].namespaceSelector: {matchLabels: {a: "b c"}}`,
			`spec.egress[0].to[0].namespaceSelector.matchLabels: Invalid value: "b c": a valid label ` +
				"must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
				"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"block beside a selector", "spec.egress[0].to: [{ipBlock: {cidr: 10.0.0.0/8}}]",
			"spec.egress[0].to[0].ipBlock: {cidr: 10.0.0.0/8}",
			"spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer"},
		{"no peer", "spec.egress[0].to: []", "spec.egress[0].to: [{}]",
			"spec.egress[0].to[0]: Required value: must specify a peer"},
		{"exception outside the block", "spec.egress[0].to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]",
			"spec.egress[0].to: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}]",
			`spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict ` +
				"subset of `cidr`"},
		{"exception as large as the block",
			"spec.egress[0].to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/9]}}]",
			"spec.egress[0].to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}]",
			`spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict ` +
				"subset of `cidr`"},
	})
}

// TestNetworkPolicyLegacyWarnings checks the warnings about blocks that are valid without the gate only.
func TestNetworkPolicyLegacyWarnings(t *testing.T) {
	k := kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy, "-StrictIPCIDRValidation")
	k.Warnings(kindtest.Cases{
		{"ambiguous block", "spec.ingress[0].from[0].ipBlock: {cidr: 10.0.0.1/8}",
			`spec.ingress[0].from[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context ` +
				`(should be "10.0.0.0/8" or "10.0.0.1/32"?)`},
		{"leading zeros", "spec.ingress[0].from[0].ipBlock: {cidr: 010.0.0.0/8}",
			`spec.ingress[0].from[0].ipBlock.cidr: non-standard CIDR value "010.0.0.0/8" is invalid: use ` +
				`"10.0.0.0/8"`},
		{"ambiguous exception", "spec.ingress[0].from[0].ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.1/16]}",
			`spec.ingress[0].from[0].ipBlock.except[0]: CIDR value "10.1.0.1/16" is ambiguous in this ` +
				`context (should be "10.1.0.0/16" or "10.1.0.1/32"?)`},
		{"outgoing block", "spec.egress: [{to: [{ipBlock: {cidr: 10.0.0.1/8}}]}]",
			`spec.egress[0].to[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context ` +
				`(should be "10.0.0.0/8" or "10.0.0.1/32"?)`},
	})
}

// TestNetworkPolicyCells checks how tables show the selected pods.
func TestNetworkPolicyCells(t *testing.T) {
	k := kindtest.New(t, "networkpolicies.v1.networking.k8s.io", networkPolicy)
	k.Columns("Name|Pod-Selector|Age", kindtest.Cases{
		{"all", "metadata.labels: {a: b}", "x|<none>|60m"},
		{"some", "spec.podSelector: {matchLabels: {a: b}}", "x|a=b|60m"},
	})
}
