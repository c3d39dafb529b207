package resource_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const slice = `spec:
  driver: d
  nodeName: node
  pool: {name: p, resourceSliceCount: 1}
  devices: [{name: a}]`

func TestSliceRules(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).Create(kindtest.Rules{
		{"a driver is required", "spec.driver: a.b", `spec.driver: ""`, "spec.driver: Required value"},
		{"a driver is a subdomain", "spec.driver: a.b", "spec.driver: a_b",
			`spec.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the name of a driver is short", "spec.driver: " + strings.Repeat("d", 63),
			"spec.driver: " + strings.Repeat("d", 64), "spec.driver: Too long: may not be more than 63 bytes"},
		{"a pool has a name", "spec.pool.name: a/b", `spec.pool.name: ""`, "spec.pool.name: Required value"},
		{"a pool is a path of subdomains", "spec.pool.name: a.b/c", "spec.pool.name: a_b",
			`spec.pool.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the path of a pool is short", "spec.pool.name: " + strings.Repeat("p", 253),
			"spec.pool.name: " + strings.Repeat("p/", 127) + "p",
			"spec.pool.name: Too long: may not be more than 253 bytes"},
		{"the number of slices is positive", "spec.pool.resourceSliceCount: 2", "spec.pool.resourceSliceCount: 0",
			"spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"},
		{"the generation of a pool is not negative", "spec.pool.generation: 0", "spec.pool.generation: -1",
			"spec.pool.generation: Invalid value: -1: must be greater than or equal to zero"},
		{"a slice is of nodes", "spec: {driver: d, allNodes: true, pool: {name: p, resourceSliceCount: 1}}",
			"spec.nodeName: null",
			"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, " +
				"`perDeviceNodeSelection` is required"},
		{"a slice is of one node or of all", "spec.nodeName: a", "spec.allNodes: true",
			"spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, " +
				"`nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set"},
		{"a node has a name", "spec.nodeName: a", `spec.nodeName: ""`,
			`spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string; ` +
				"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, " +
				"`perDeviceNodeSelection` is required"},
		{"the name of a node is a subdomain", "spec.nodeName: a.b", "spec.nodeName: a_b",
			`spec.nodeName: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"all nodes is true or unset", "spec.allNodes: null", "spec.allNodes: false",
			"spec.allNodes: Invalid value: false: must be either unset or set to true"},
		{"a node selector has one term",
			"spec.nodeName: null; spec.nodeSelector.nodeSelectorTerms: [{matchExpressions: [{key: a, " +
				"operator: Exists}]}]",
			"spec.nodeName: null; spec.nodeSelector.nodeSelectorTerms: [{matchExpressions: [{key: a, " +
				"operator: Exists}]}, {matchExpressions: [{key: b, operator: Exists}]}]",
			"spec.nodeSelector.nodeSelectorTerms: Invalid value: " +
				`[{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}` +
				`,{"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null}],"MatchFields":null}` +
				"]: must have exactly one node selector term"},
		{"a node selector is valid",
			"spec.nodeName: null; spec.nodeSelector.nodeSelectorTerms: [{matchExpressions: [{key: a, " +
				"operator: Exists}]}]",
			"spec.nodeName: null; spec.nodeSelector.nodeSelectorTerms: [{matchExpressions: [{key: a, " +
				"operator: Has}]}]",
			"spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: " +
				`"Has": not a valid selector operator`},
		{"a device has a name", "spec.devices: [{name: a-b}]", `spec.devices: [{name: ""}]`,
			`spec.devices[0].name: Invalid value: "": a lowercase RFC 1123 label must consist of ` +
				"lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
				"character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"the name of a device is a label", "spec.devices: [{name: a-b}]", "spec.devices: [{name: a.b}]",
			`spec.devices[0].name: Invalid value: "a.b": must not contain dots`},
		{"devices have different names", "spec.devices: [{name: a}, {name: b}]",
			"spec.devices: [{name: a}, {name: a}]", `spec.devices[1]: Duplicate value: "a"`},
		{"at most 128 devices", "spec.devices: " + kindtest.List(128, "{name: a%d}"),
			"spec.devices: " + kindtest.List(129, "{name: a%d}"),
			"spec.devices: Too many: 129: must have at most 128 items"},
	})
}

func TestDeviceAttributeRules(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).Create(kindtest.Rules{
		{"an attribute has one value", "spec.devices[0].attributes: {a: {string: s}}",
			"spec.devices[0].attributes: {a: {}}",
			"spec.devices[0].attributes[a]: Invalid value: \"\": must specify one of: `int`, `bool`, " +
				"`string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"an attribute has no second value", "spec.devices[0].attributes: {a: {int: 5}}",
			"spec.devices[0].attributes: {a: {int: 5, bool: true}}",
			`spec.devices[0].attributes[a]: Invalid value: "{int, bool}": must specify exactly one ` +
				"of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"the name of an attribute is an identifier", "spec.devices[0].attributes: {a_b: {bool: true}}",
			"spec.devices[0].attributes: {a-b: {bool: true}}",
			`spec.devices[0].attributes: Invalid value: "a-b": a valid C identifier must start with ` +
				"alphabetic character or '_', followed by a string of alphanumeric characters or '_' " +
				"(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is " +
				"'[A-Za-z_][A-Za-z0-9_]*')"},
		{"the name of an attribute is short",
			"spec.devices[0].attributes: {" + strings.Repeat("a", 32) + ": {bool: true}}",
			"spec.devices[0].attributes: {" + strings.Repeat("a", 33) + ": {bool: true}}",
			"spec.devices[0].attributes: Too long: may not be more than 32 bytes"},
		{"a slash after the name is no error", "spec.devices[0].attributes: {a/b: {bool: true}}",
			"spec.devices[0].attributes: {a/b/c: {}}",
			"spec.devices[0].attributes[a/b/c]: Invalid value: \"\": must specify one of: `int`, " +
				"`bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"the domain of an attribute is a subdomain", "spec.devices[0].attributes: {a.b/c: {bool: true}}",
			"spec.devices[0].attributes: {a_b/c: {bool: true}}",
			`spec.devices[0].attributes: Invalid value: "a_b": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the domain of an attribute is not empty", "spec.devices[0].attributes: {a/b: {bool: true}}",
			"spec.devices[0].attributes: {/b: {bool: true}}",
			`spec.devices[0].attributes: Invalid value: "": the domain must not be empty`},
		{"the name after a domain is not empty", "spec.devices[0].attributes: {a/b: {bool: true}}",
			"spec.devices[0].attributes: {a/: {bool: true}}",
			`spec.devices[0].attributes: Invalid value: "": the name must not be empty`},
		{"a long name is cut in messages",
			"spec.devices[0].attributes: {" + strings.Repeat("a", 32) + ": {bool: true}}",
			"spec.devices[0].attributes: {" + strings.Repeat("a", 50) + strings.Repeat("b", 50) + ": {}}",
			"spec.devices[0].attributes: Too long: may not be more than 32 bytes; " +
				"spec.devices[0].attributes[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...bbbbbbbbbbb" +
				`bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb]: Invalid value: "": exactly one value must be ` +
				"specified; spec.devices[0].attributes[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				`bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb]: Invalid value: "": must specify ` +
				"one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"a text is short", "spec.devices[0].attributes: {a: {string: " + strings.Repeat("s", 64) + "}}",
			"spec.devices[0].attributes: {a: {string: " + strings.Repeat("s", 65) + "}}",
			"spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes"},
		{"a version is semantic", "spec.devices[0].attributes: {a: {version: 1.2.3-rc.1+b.5}}",
			"spec.devices[0].attributes: {a: {version: v1.2}}",
			`spec.devices[0].attributes[a].version: Invalid value: "v1.2": must be a string ` +
				"compatible with semver.org spec 2.0.0"},
		{"a number of a version has no zeros before it", "spec.devices[0].attributes: {a: {version: 1.0.3}}",
			"spec.devices[0].attributes: {a: {version: 1.02.3}}",
			`spec.devices[0].attributes[a].version: Invalid value: "1.02.3": must be a string ` +
				"compatible with semver.org spec 2.0.0"},
		{"a version is short", "spec.devices[0].attributes: {a: {version: 1.2.3-" + strings.Repeat("a", 58) + "}}",
			"spec.devices[0].attributes: {a: {version: 1.2.3-" + strings.Repeat("a", 59) + "}}",
			"spec.devices[0].attributes[a].version: Too long: may not be more than 64 bytes"},
		{"at most 32 attributes and capacities", "spec.devices[0].capacity: {c0: {value: 1}, c1: {value: 1}}",
			"spec.devices[0].capacity: {c0: {value: 1}, c1: {value: 1}, c2: {value: 1}, c3: {value: " +
				"1}, c4: {value: 1}, c5: {value: 1}, c6: {value: 1}, c7: {value: 1}, c8: {value: 1}, c9: " +
				"{value: 1}, c10: {value: 1}, c11: {value: 1}, c12: {value: 1}, c13: {value: 1}, c14: " +
				"{value: 1}, c15: {value: 1}, c16: {value: 1}, c17: {value: 1}, c18: {value: 1}, c19: " +
				"{value: 1}, c20: {value: 1}, c21: {value: 1}, c22: {value: 1}, c23: {value: 1}, c24: " +
				"{value: 1}, c25: {value: 1}, c26: {value: 1}, c27: {value: 1}, c28: {value: 1}, c29: " +
				"{value: 1}, c30: {value: 1}, c31: {value: 1}, c32: {value: 1}}",
			"spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must " +
				"not exceed 32"},
		{"the name of a capacity is an identifier", "spec.devices[0].capacity: {a.b/c: {value: 1}}",
			"spec.devices[0].capacity: {a-b: {value: 1}}",
			`spec.devices[0].capacity: Invalid value: "a-b": a valid C identifier must start with ` +
				"alphabetic character or '_', followed by a string of alphanumeric characters or '_' " +
				"(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is " +
				"'[A-Za-z_][A-Za-z0-9_]*')"},
		{"a policy needs a shared device",
			"spec.devices[0].allowMultipleAllocations: true; spec.devices[0].capacity: {a: {value: " +
				"1, requestPolicy: {default: 1}}}",
			"spec.devices[0].capacity: {a: {value: 1, requestPolicy: {default: 1}}}",
			"spec.devices[0].capacity[a].requestPolicy: Forbidden: allowMultipleAllocations must be true"},
	})
}

func TestDeviceNodeRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).With(
		"spec: {driver: d, perDeviceNodeSelection: true, pool: {name: p, resourceSliceCount: 1}, " +
			"devices: [{name: a, nodeName: node}]}")
	k.Create(kindtest.Rules{
		{"each device has a node", "spec.devices[0]: {name: a, allNodes: true}", "spec.devices[0]: {name: a}",
			"spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or " +
				"`allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"},
		{"a device has no second selection", "spec.devices[0]: {name: a, nodeName: b}",
			"spec.devices[0]: {name: a, nodeName: b, allNodes: true}",
			"spec.devices[0]: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, " +
				"`nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true " +
				"in the ResourceSlice spec"},
		{"a node has a name", "spec.devices[0].nodeName: b", `spec.devices[0].nodeName: ""`,
			`spec.devices[0].nodeName: Invalid value: "": must not be empty; spec.devices[0]: ` +
				"Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required " +
				"when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"},
		{"the name of a node is a subdomain", "spec.devices[0].nodeName: a.b", "spec.devices[0].nodeName: a_b",
			`spec.devices[0].nodeName: Invalid value: "a_b": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"all nodes is true or unset", "spec.devices[0]: {name: a, allNodes: true}",
			"spec.devices[0].allNodes: false",
			"spec.devices[0].allNodes: Invalid value: false: must be either unset or set to true"},
		{"a node selector is valid",
			"spec.devices[0]: {name: a, nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: " +
				"a, operator: Exists}]}]}}", "spec.devices[0]: {name: a, nodeSelector: {nodeSelectorTerms: []}}",
			"spec.devices[0].nodeSelector.nodeSelectorTerms: Required value: must have at least one " +
				"node selector term"},
		{"devices have nodes only if the slice has none", "spec.devices[0].nodeName: b",
			"spec.perDeviceNodeSelection: null; spec.nodeName: node",
			"spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can " +
				"only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"},
		{"the slice selects nodes by device or itself", "spec.devices[0].nodeName: b", "spec.nodeName: node",
			"spec: Invalid value: \"{`nodeName`, `perDeviceNodeSelection`}\": exactly one of " +
				"`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but " +
				"multiple fields are set"},
		{"selection by device is true or unset", "spec.devices[0].nodeName: b", "spec.perDeviceNodeSelection: false",
			"spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true; " +
				"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, " +
				"`perDeviceNodeSelection` is required; spec.devices[0]: Invalid value: null: `nodeName`, " +
				"`nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to " +
				"true in the ResourceSlice spec"},
	})
}

func TestDeviceCounterRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).With(
		"spec.devices[0].consumesCounters: [{counterSet: s, counters: {c: {value: 1}}}]")
	k.Create(kindtest.Rules{
		{"a slice has counters or devices",
			"spec.devices: null; spec.sharedCounters: [{name: s, counters: {c: {value: 1}}}]",
			"spec.sharedCounters: [{name: s, counters: {c: {value: 1}}}]",
			"spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"},
		{"a set of counters has a name",
			"spec.devices: null; spec.sharedCounters: [{name: s, counters: {c: {value: 1}}}]",
			`spec.devices: null; spec.sharedCounters: [{name: "", counters: {c: {value: 1}}}]`,
			"spec.sharedCounters[0].name: Required value"},
		{"the name of a set is a label",
			"spec.devices: null; spec.sharedCounters: [{name: s, counters: {c: {value: 1}}}]",
			"spec.devices: null; spec.sharedCounters: [{name: S, counters: {c: {value: 1}}}]",
			`spec.sharedCounters[0].name: Invalid value: "S": a lowercase RFC 1123 label must ` +
				"consist of lower case alphanumeric characters or '-', and must start and end with an " +
				"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"a set has counters", "spec.devices: null; spec.sharedCounters: [{name: s, counters: {c: {value: 1}}}]",
			"spec.devices: null; spec.sharedCounters: [{name: s}]",
			"spec.sharedCounters[0].counters: Required value"},
		{"the name of a counter is a label",
			"spec.devices: null; spec.sharedCounters: [{name: s, counters: {a-b: {value: 1}}}]",
			"spec.devices: null; spec.sharedCounters: [{name: s, counters: {a.b: {value: 1}}}]",
			`spec.sharedCounters[0].counters: Invalid value: "a.b": must not contain dots`},
		{"sets have different names",
			"spec.devices: null; spec.sharedCounters: [{name: s, counters: {c: {value: 1}}}]",
			"spec.devices: null; spec.sharedCounters: [{name: s, counters: {c: {value: 1}}}, {name: " +
				"s, counters: {c: {value: 1}}}]",
			`spec.sharedCounters[1]: Duplicate value: {"name":"s","counters":{"c":{"value":"1"}}}`},
		{"at most eight sets",
			"spec.devices: null; spec.sharedCounters: " +
				kindtest.List(8, "{name: s%d, counters: {c: {value: 1}}}"),
			"spec.devices: null; spec.sharedCounters: " +
				kindtest.List(9, "{name: s%d, counters: {c: {value: 1}}}"),
			"spec.sharedCounters: Too many: 9: must have at most 8 items"},
		{"a device names the set", "spec.devices[0].consumesCounters[0].counterSet: t",
			`spec.devices[0].consumesCounters[0].counterSet: ""`,
			"spec.devices[0].consumesCounters[0].counterSet: Required value"},
		{"a device consumes counters of the set", "spec.devices[0].consumesCounters[0].counters: {a-b: {value: 1}}",
			"spec.devices[0].consumesCounters[0].counters: {}",
			"spec.devices[0].consumesCounters[0].counters: Required value"},
		{"at most 32 counters of a set are consumed",
			"spec.devices[0].consumesCounters[0].counters: {a: {value: 1}, b: {value: 1}}",
			"spec.devices[0].consumesCounters[0].counters: {c0: {value: 1}, c1: {value: 1}, c2: " +
				"{value: 1}, c3: {value: 1}, c4: {value: 1}, c5: {value: 1}, c6: {value: 1}, c7: {value: " +
				"1}, c8: {value: 1}, c9: {value: 1}, c10: {value: 1}, c11: {value: 1}, c12: {value: 1}, " +
				"c13: {value: 1}, c14: {value: 1}, c15: {value: 1}, c16: {value: 1}, c17: {value: 1}, " +
				"c18: {value: 1}, c19: {value: 1}, c20: {value: 1}, c21: {value: 1}, c22: {value: 1}, " +
				"c23: {value: 1}, c24: {value: 1}, c25: {value: 1}, c26: {value: 1}, c27: {value: 1}, " +
				"c28: {value: 1}, c29: {value: 1}, c30: {value: 1}, c31: {value: 1}, c32: {value: 1}}",
			"spec.devices[0].consumesCounters[0].counters: Too many: 33: must have at most 32 items"},
		{"the name of a consumed counter is short",
			"spec.devices[0].consumesCounters[0].counters: {" + strings.Repeat("a", 63) + ": {value: 1}}",
			"spec.devices[0].consumesCounters[0].counters: {" + strings.Repeat("a", 64) + ": {value: 1}}",
			"spec.devices[0].consumesCounters[0].counters: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 bytes`},
		{"a device names a set once",
			"spec.devices[0].consumesCounters[1]: {counterSet: t, counters: {c: {value: 1}}}",
			"spec.devices[0].consumesCounters[1]: {counterSet: s, counters: {c: {value: 1}}}",
			"spec.devices[0].consumesCounters[1]: Duplicate value: " +
				`{"counterSet":"s","counters":{"c":{"value":"1"}}}`},
		{"a device consumes two sets at most",
			"spec.devices[0].consumesCounters: " +
				kindtest.List(2, "{counterSet: s%d, counters: {c: {value: 1}}}"),
			"spec.devices[0].consumesCounters: " +
				kindtest.List(3, "{counterSet: s%d, counters: {c: {value: 1}}}"),
			"spec.devices[0].consumesCounters: Too many: 3: must have at most 2 items"},
		{"at most 64 devices if one consumes counters",
			"spec.devices: " +
				kindtest.List(64, "{name: a%d, consumesCounters: [{counterSet: s, counters: {c: {value: 1}}}]}"),
			"spec.devices: " +
				kindtest.List(65, "{name: a%d, consumesCounters: [{counterSet: s, counters: {c: {value: 1}}}]}"),
			"spec.devices: Too many: 65: must have at most 64 items"},
	})
}

func TestDeviceTaintRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).With(
		"spec.devices[0].taints: [{key: k, effect: NoSchedule}]")
	k.Create(kindtest.Rules{
		{"a taint has a key", "spec.devices[0].taints[0].key: a.b/c", `spec.devices[0].taints[0].key: ""`,
			`spec.devices[0].taints[0].key: Invalid value: "": name part must be non-empty; ` +
				`spec.devices[0].taints[0].key: Invalid value: "": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"a key is a qualified name", "spec.devices[0].taints[0].key: a.b/c", "spec.devices[0].taints[0].key: a b",
			`spec.devices[0].taints[0].key: Invalid value: "a b": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"a value is a label value", "spec.devices[0].taints[0].value: a_b", "spec.devices[0].taints[0].value: a b",
			`spec.devices[0].taints[0].value: Invalid value: "a b": a valid label must be an empty ` +
				"string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
				"with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used " +
				"for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"a taint has an effect", "spec.devices[0].taints[0].effect: NoExecute",
			"spec.devices[0].taints[0].effect: null", "spec.devices[0].taints[0].effect: Required value"},
		{"the effects are known", "spec.devices[0].taints[0].effect: NoExecute",
			"spec.devices[0].taints[0].effect: Other",
			`spec.devices[0].taints[0].effect: Unsupported value: "Other": supported values: ` +
				`"NoExecute", "NoSchedule", "None"`},
		{"at most 16 taints", "spec.devices[0].taints: " + kindtest.List(16, "{key: k%d, effect: NoSchedule}"),
			"spec.devices[0].taints: " + kindtest.List(17, "{key: k%d, effect: NoSchedule}"),
			"spec.devices[0].taints: Too many: 17: must have at most 16 items"},
	})
}

func TestSliceUpdateRules(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).Update(kindtest.Rules{
		{"the driver is immutable", "spec.pool.generation: 5", "spec.driver: e",
			`spec.driver: Invalid value: "e": field is immutable`},
		{"the name of the pool is immutable", "spec.pool.generation: 5", "spec.pool.name: q",
			`spec.pool.name: Invalid value: "q": field is immutable`},
		{"the node is immutable", "spec.pool.generation: 5", "spec.nodeName: b",
			`spec.nodeName: Invalid value: "b": field is immutable`},
		{"a changed device is valid", "spec.devices: [{name: b}]", "spec.devices: [{name: b_c}]",
			`spec.devices[0].name: Invalid value: "b_c": a lowercase RFC 1123 label must consist of ` +
				"lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
				"character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
	})
}

func TestSliceCreated(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).Created(kindtest.Cases{
		{"the generation counts from 1", "", "metadata.generation: 1; spec.devices[0].name: a"},
	})
}

func TestSliceGenerations(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"labels are no part of the spec", "metadata.labels: {a: b}", "1"},
		{"the spec", "spec.pool.generation: 5", "2"},
		{"a field of a disabled gate counts", "spec.devices[0].attributes: {a: {string: s, bools: [true]}}", "2"},
	})
}

func TestSliceWarnings(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).Warnings(kindtest.Cases{
		{"a driver in lower case", "", ""},
		{"a driver in upper case", "spec.driver: D",
			`spec.driver: driver names should be lowercase; "D" contains uppercase characters`},
	})
}

func TestSliceColumns(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).Columns("Name|Node|Driver|Pool|Age", kindtest.Cases{
		{"of a node", "", "x|node|d|p|60m"},
		{"of all nodes", "spec.nodeName: null; spec.allNodes: true", "x||d|p|60m"},
	})
}

func TestSliceSelectableFields(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice).Selectable(kindtest.Cases{
		{"of a node", "", "spec.driver=d,spec.nodeName=node"},
		{"of all nodes", "spec.nodeName: null; spec.allNodes: true", "spec.driver=d,spec.nodeName="},
	})
}

func TestListAttributeValueRules(t *testing.T) {
	kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice, "DRAListTypeAttributes").Create(kindtest.Rules{
		{"a list has an element", "spec.devices[0].attributes: {a: {bools: [true]}}",
			"spec.devices[0].attributes: {a: {bools: []}}",
			"spec.devices[0].attributes[a].bools: Invalid value: []: must not be empty if specified; " +
				"spec.devices[0].attributes[a]: Invalid value: \"\": must specify one of: `int`, `bool`, " +
				"`string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"a list of numbers has an element", "spec.devices[0].attributes: {a: {ints: [1]}}",
			"spec.devices[0].attributes: {a: {ints: []}}",
			"spec.devices[0].attributes[a].ints: Invalid value: []: must not be empty if specified; " +
				"spec.devices[0].attributes[a]: Invalid value: \"\": must specify one of: `int`, `bool`, " +
				"`string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"a list of texts has an element", "spec.devices[0].attributes: {a: {strings: [a]}}",
			"spec.devices[0].attributes: {a: {strings: []}}",
			"spec.devices[0].attributes[a].strings: Invalid value: []: must not be empty if " +
				`specified; spec.devices[0].attributes[a]: Invalid value: "": must specify one of: ` +
				"`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"a list of versions has an element", "spec.devices[0].attributes: {a: {versions: [1.2.3]}}",
			"spec.devices[0].attributes: {a: {versions: []}}",
			"spec.devices[0].attributes[a].versions: Invalid value: []: must not be empty if " +
				`specified; spec.devices[0].attributes[a]: Invalid value: "": must specify one of: ` +
				"`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"an attribute has a value or a list", "spec.devices[0].attributes: {a: {strings: [a]}}",
			"spec.devices[0].attributes: {a: {string: a, strings: [a]}}",
			`spec.devices[0].attributes[a]: Invalid value: "{string, strings}": must specify exactly ` +
				"one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"a text in a list is short", "spec.devices[0].attributes: {a: {strings: [" + strings.Repeat("a", 64) + "]}}",
			"spec.devices[0].attributes: {a: {strings: [" + strings.Repeat("a", 65) + "]}}",
			"spec.devices[0].attributes[a].strings[0]: Too long: may not be more than 64 bytes"},
		{"a version in a list is semantic", "spec.devices[0].attributes: {a: {versions: [1.2.3]}}",
			`spec.devices[0].attributes: {a: {versions: ["1.2"]}}`,
			`spec.devices[0].attributes[a].versions[0]: Invalid value: "1.2": must be a string ` +
				"compatible with semver.org spec 2.0.0"},
		{"at most 48 values", "spec.devices[0].attributes: {a: {ints: " + kindtest.List(48, "%d") + "}}",
			"spec.devices[0].attributes: {a: {ints: " + kindtest.List(49, "%d") + "}}",
			"spec.devices[0]: Invalid value: 49: the total number of attribute values must not exceed 48"},
	})
}

func TestSliceBindingConditionRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice, "DRADeviceBindingConditions", "DRANodeAllocatableResources", "DRAOptionalNodeOperations", "DRAPartitionableDevices", "DRAPartitionableDevicesType", "DRAResourcePoolStatus")
	k.Create(kindtest.Rules{
		{"binding conditions come with failures",
			"spec.devices[0].bindingConditions: [a]; spec.devices[0].bindingFailureConditions: [b]",
			"spec.devices[0].bindingConditions: [a]",
			"spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions " +
				"are required to use bindingConditions"},
		{"a condition is no failure",
			"spec.devices[0].bindingConditions: [a]; spec.devices[0].bindingFailureConditions: [b]",
			"spec.devices[0].bindingConditions: [a]; spec.devices[0].bindingFailureConditions: [a]",
			`spec.devices[0].bindingFailureConditions[0]: Invalid value: "a": ` +
				"bindingFailureConditions must not overlap with bindingConditions"},
		{"operations are skipped in pairs", "spec.skipNodeOperations: [NodePrepareResources, NodeUnprepareResources]",
			"spec.skipNodeOperations: [NodePrepareResources]",
			`spec.skipNodeOperations: Invalid value: ["NodePrepareResources"]: NodePrepareResources ` +
				"cannot be skipped unless NodeUnprepareResources is also skipped"},
	})
}

func TestPartitionTypeRules(t *testing.T) {
	k := kindtest.New(t, "resourceslices.v1.resource.k8s.io", slice, "DRADeviceBindingConditions", "DRANodeAllocatableResources", "DRAOptionalNodeOperations", "DRAPartitionableDevices", "DRAPartitionableDevicesType", "DRAResourcePoolStatus").With(
		"spec.devices[0].consumesCounters: [{counterSet: s, counters: {c: {value: 1}}}]; " +
			"spec.devices[0].attributes: {t: {string: a}}")
	k.Create(kindtest.Rules{
		{"the attribute of the type needs consumed counters", "spec.partitionTypeAttribute: d/t",
			"spec.partitionTypeAttribute: d/t; spec.devices: [{name: a}]",
			`spec.partitionTypeAttribute: Invalid value: "d/t": may only be set on a slice which ` +
				"declares devices that consume counters"},
		{"a device has the attribute of the type", "spec.partitionTypeAttribute: d/t",
			"spec.partitionTypeAttribute: d/u",
			"spec.devices[0].attributes[d/u]: Required value: device consumes counters and " +
				"`partitionTypeAttribute` names this attribute, so it must be set"},
		{"the attribute of the type has a domain", "spec.partitionTypeAttribute: d/t",
			"spec.partitionTypeAttribute: t",
			`spec.partitionTypeAttribute: Invalid value: "t": a fully qualified name must be a ` +
				"domain and a name separated by a slash"},
		{"the attribute of the type is a text", "spec.partitionTypeAttribute: d/t",
			"spec.partitionTypeAttribute: d/t; spec.devices[0].attributes: {d/t: {int: 5}}",
			"spec.devices[0].attributes[d/t]: Invalid value: " +
				`{"IntValue":5,"BoolValue":null,"StringValue":null,"VersionValue":null,"IntValues":null,"` +
				`BoolValues":null,"StringValues":null,"VersionValues":null}: must be a string value ` +
				"because `partitionTypeAttribute` names this attribute"},
	})
}

const sliceV1beta1 = `spec:
  driver: d
  nodeName: node
  pool: {name: p, resourceSliceCount: 1}
  devices: [{name: a, basic: {attributes: {b: {bool: true}}}}]`

func TestSliceV1beta1Rules(t *testing.T) {
	kindtest.New(t, "resourceslices.v1beta1.resource.k8s.io", sliceV1beta1).Create(kindtest.Rules{
		{"the taints of a device stand in basic", "spec.devices[0].basic.taints: [{key: k, effect: NoSchedule}]",
			"spec.devices[0].basic.taints: [{key: k}]", "spec.devices[0].basic.taints[0].effect: Required value"},
		{"an attribute has one value", "spec.devices[0].basic.attributes.b: {int: 5}",
			"spec.devices[0].basic.attributes.b: {}",
			"spec.devices[0].basic.attributes[b]: Invalid value: \"\": must specify one of: `int`, " +
				"`bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
		{"a slice is of nodes", "spec.nodeName: null; spec.allNodes: true", `spec.nodeName: ""`,
			"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, " +
				"`perDeviceNodeSelection` is required"},
	})
}

func TestSliceV1beta1Created(t *testing.T) {
	kindtest.New(t, "resourceslices.v1beta1.resource.k8s.io", sliceV1beta1).Created(kindtest.Cases{
		{"a device has its attributes", "",
			`spec.devices[0].basic.attributes: {"b":{"bool":true}}; spec.nodeName: node; spec.allNodes: null`},
		{"all nodes", "spec.nodeName: null; spec.allNodes: true", "spec.nodeName: null; spec.allNodes: true"},
	})
}
