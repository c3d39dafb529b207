package resource_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const claim = `spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}`

func TestClaimRequestRules(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).Create(kindtest.Rules{
		{"a request has a name", "spec.devices.requests[0].name: a-b", `spec.devices.requests[0].name: ""`,
			`spec.devices.requests[0].name: Invalid value: "": a lowercase RFC 1123 label must ` +
				"consist of lower case alphanumeric characters or '-', and must start and end with an " +
				"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"the name of a request is a label", "spec.devices.requests[0].name: a-b",
			"spec.devices.requests[0].name: a.b",
			`spec.devices.requests[0].name: Invalid value: "a.b": must not contain dots`},
		{"requests have different names", "spec.devices.requests[1]: {name: s, exactly: {deviceClassName: c}}",
			"spec.devices.requests[1]: {name: r, exactly: {deviceClassName: c}}",
			"spec.devices.requests[1]: Duplicate value: " +
				`{"name":"r","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}}`},
		{"at most 32 requests",
			"spec.devices.requests: " + kindtest.List(32, "{name: r%d, exactly: {deviceClassName: c}}"),
			"spec.devices.requests: " + kindtest.List(33, "{name: r%d, exactly: {deviceClassName: c}}"),
			"spec.devices.requests: Too many: 33: must have at most 32 items"},
		{"a request is exact or has alternatives",
			"spec.devices.requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c}]}]",
			"spec.devices.requests: [{name: r}]",
			"spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"},
		{"an exact request has no alternatives", "spec.devices.requests[0]: {name: r, exactly: {deviceClassName: c}}",
			"spec.devices.requests[0].firstAvailable: [{name: s, deviceClassName: c}]",
			"spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or " +
				"`firstAvailable` is required, but multiple fields are set"},
		{"a request has a class", "spec.devices.requests[0].exactly.deviceClassName: a.b",
			`spec.devices.requests[0].exactly.deviceClassName: ""`,
			"spec.devices.requests[0].exactly.deviceClassName: Required value"},
		{"the name of a class is a subdomain", "spec.devices.requests[0].exactly.deviceClassName: a.b",
			"spec.devices.requests[0].exactly.deviceClassName: a_b",
			`spec.devices.requests[0].exactly.deviceClassName: Invalid value: "a_b": a lowercase RFC ` +
				"1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the modes are known", "spec.devices.requests[0].exactly.allocationMode: All",
			"spec.devices.requests[0].exactly.allocationMode: Some",
			`spec.devices.requests[0].exactly.allocationMode: Unsupported value: "Some": supported ` +
				`values: "All", "ExactCount"`},
		{"a request for all devices has no count", "spec.devices.requests[0].exactly.allocationMode: All",
			"spec.devices.requests[0].exactly: {deviceClassName: c, allocationMode: All, count: 1}",
			"spec.devices.requests[0].exactly.count: Invalid value: 1: must not be specified when " +
				"allocationMode is 'All'"},
		{"a count is positive", "spec.devices.requests[0].exactly.count: 5",
			"spec.devices.requests[0].exactly.count: -1",
			"spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"},
		{"a selector has an expression", `spec.devices.requests[0].exactly.selectors: [{cel: {expression: "true"}}]`,
			"spec.devices.requests[0].exactly.selectors: [{}]",
			"spec.devices.requests[0].exactly.selectors[0].cel: Required value"},
		{"an expression is a condition", `spec.devices.requests[0].exactly.selectors: [{cel: {expression: "true"}}]`,
			`spec.devices.requests[0].exactly.selectors: [{cel: {expression: "1"}}]`,
			`spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "1": must ` +
				"evaluate to bool or the unknown type, not int"},
		{"at most 32 selectors",
			"spec.devices.requests[0].exactly.selectors: " + kindtest.List(32, `{cel: {expression: "true"}}`),
			"spec.devices.requests[0].exactly.selectors: " + kindtest.List(33, `{cel: {expression: "true"}}`),
			"spec.devices.requests[0].exactly.selectors: Too many: 33: must have at most 32 items"},
		{"a toleration of any value has no value",
			"spec.devices.requests[0].exactly.tolerations: [{key: k, operator: Exists}]",
			"spec.devices.requests[0].exactly.tolerations: [{key: k, operator: Exists, value: v}]",
			`spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "v": must be ` +
				"empty for operator `Exists`"},
		{"a toleration has a known operator",
			"spec.devices.requests[0].exactly.tolerations: [{key: k, operator: Equal, value: v}]",
			"spec.devices.requests[0].exactly.tolerations: [{key: k, operator: In}]",
			`spec.devices.requests[0].exactly.tolerations[0].operator: Unsupported value: "In": ` +
				`supported values: "Equal", "Exists"`},
		{"the key of a toleration is a qualified name",
			"spec.devices.requests[0].exactly.tolerations: [{key: a.b/c}]",
			"spec.devices.requests[0].exactly.tolerations: [{key: a b}]",
			`spec.devices.requests[0].exactly.tolerations[0].key: Invalid value: "a b": name part ` +
				"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
				"validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"the value of a toleration is a label value",
			`spec.devices.requests[0].exactly.tolerations: [{key: k, value: ""}]`,
			"spec.devices.requests[0].exactly.tolerations: [{key: k, value: a b}]",
			`spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: "a b": a valid ` +
				"label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
				"and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  " +
				"or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"the effect of a toleration is known",
			"spec.devices.requests[0].exactly.tolerations: [{key: k, effect: NoExecute}]",
			"spec.devices.requests[0].exactly.tolerations: [{key: k, effect: Other}]",
			`spec.devices.requests[0].exactly.tolerations[0].effect: Unsupported value: "Other": ` +
				`supported values: "NoExecute", "NoSchedule", "None"`},
	})
}

func TestClaimAlternativeRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).With(
		"spec.devices.requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c}]}]")
	k.Create(kindtest.Rules{
		{"an alternative has a name", "spec.devices.requests[0].firstAvailable[0].name: t",
			`spec.devices.requests[0].firstAvailable[0].name: ""`,
			`spec.devices.requests[0].firstAvailable[0].name: Invalid value: "": a lowercase RFC ` +
				"1123 label must consist of lower case alphanumeric characters or '-', and must start " +
				"and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for " +
				"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"the name of an alternative is a label", "spec.devices.requests[0].firstAvailable[0].name: a-b",
			"spec.devices.requests[0].firstAvailable[0].name: a/b",
			`spec.devices.requests[0].firstAvailable[0].name: Invalid value: "a/b": a lowercase RFC ` +
				"1123 label must consist of lower case alphanumeric characters or '-', and must start " +
				"and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for " +
				"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"alternatives have different names",
			"spec.devices.requests[0].firstAvailable[1]: {name: t, deviceClassName: c}",
			"spec.devices.requests[0].firstAvailable[1]: {name: s, deviceClassName: c}",
			"spec.devices.requests[0].firstAvailable[1]: Duplicate value: " +
				`{"name":"s","deviceClassName":"c","allocationMode":"ExactCount","count":1}`},
		{"at most eight alternatives",
			"spec.devices.requests[0].firstAvailable: " + kindtest.List(8, "{name: s%d, deviceClassName: c}"),
			"spec.devices.requests[0].firstAvailable: " + kindtest.List(9, "{name: s%d, deviceClassName: c}"),
			"spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items"},
		{"an alternative has a class", "spec.devices.requests[0].firstAvailable[0].deviceClassName: a.b",
			`spec.devices.requests[0].firstAvailable[0].deviceClassName: ""`,
			"spec.devices.requests[0].firstAvailable[0].deviceClassName: Required value"},
		{"the name of a class is short",
			"spec.devices.requests[0].firstAvailable[0].deviceClassName: " + strings.Repeat("a", 253),
			"spec.devices.requests[0].firstAvailable[0].deviceClassName: " + strings.Repeat("a", 254),
			"spec.devices.requests[0].firstAvailable[0].deviceClassName: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must ` +
				"be no more than 253 bytes"},
		{"the mode of an alternative is known", "spec.devices.requests[0].firstAvailable[0].allocationMode: All",
			"spec.devices.requests[0].firstAvailable[0].allocationMode: Some",
			`spec.devices.requests[0].firstAvailable[0].allocationMode: Unsupported value: "Some": ` +
				`supported values: "All", "ExactCount"`},
		{"the count of an alternative is positive", "spec.devices.requests[0].firstAvailable[0].count: 2",
			"spec.devices.requests[0].firstAvailable[0].count: -2",
			"spec.devices.requests[0].firstAvailable[0].count: Invalid value: -2: must be greater than zero"},
		{"the tolerations of an alternative are valid",
			"spec.devices.requests[0].firstAvailable[0].tolerations: [{key: k}]",
			"spec.devices.requests[0].firstAvailable[0].tolerations: [{key: k, effect: Other}]",
			"spec.devices.requests[0].firstAvailable[0].tolerations[0].effect: Unsupported value: " +
				`"Other": supported values: "NoExecute", "NoSchedule", "None"`},
		{"the selectors of an alternative compile",
			`spec.devices.requests[0].firstAvailable[0].selectors: [{cel: {expression: "true"}}]`,
			`spec.devices.requests[0].firstAvailable[0].selectors: [{cel: {expression: "tru"}}]`,
			"spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression: Invalid value: " +
				`"tru": compilation failed: ERROR: <input>:1:1: undeclared reference to 'tru' (in ` +
				"container '')\n | tru\n | ^"},
	})
}

func TestClaimConstraintRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).With(
		"spec.devices.requests[1]: {name: q, firstAvailable: [{name: s, deviceClassName: c}]}")
	k.Create(kindtest.Rules{
		{"a constraint has an attribute", "spec.devices.constraints: [{matchAttribute: a/b}]",
			"spec.devices.constraints: [{}]",
			`spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or ` +
				`"distinctAttribute" is required, but multiple fields are set`},
		{"an attribute has a domain", "spec.devices.constraints: [{matchAttribute: a.b/c}]",
			"spec.devices.constraints: [{matchAttribute: c}]",
			`spec.devices.constraints[0].matchAttribute: Invalid value: "c": a fully qualified name ` +
				"must be a domain and a name separated by a slash"},
		{"the domain of an attribute is a subdomain", "spec.devices.constraints: [{matchAttribute: a.b/c}]",
			"spec.devices.constraints: [{matchAttribute: a_b/c}]",
			`spec.devices.constraints[0].matchAttribute: Invalid value: "a_b": prefix: a lowercase ` +
				"RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
				"must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the domain of an attribute is not empty", "spec.devices.constraints: [{matchAttribute: a/b}]",
			"spec.devices.constraints: [{matchAttribute: /b}]",
			`spec.devices.constraints[0].matchAttribute: Invalid value: "": prefix must not be empty`},
		{"the name of an attribute is not empty", "spec.devices.constraints: [{matchAttribute: a/b}]",
			"spec.devices.constraints: [{matchAttribute: a/}]",
			`spec.devices.constraints[0].matchAttribute: Invalid value: "": name must not be empty`},
		{"the name of an attribute is an identifier", "spec.devices.constraints: [{matchAttribute: a/b_c}]",
			"spec.devices.constraints: [{matchAttribute: a/b-c}]",
			`spec.devices.constraints[0].matchAttribute: Invalid value: "b-c": a valid C identifier ` +
				"must start with alphabetic character or '_', followed by a string of alphanumeric " +
				"characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for " +
				"validation is '[A-Za-z_][A-Za-z0-9_]*')"},
		{"the name of an attribute is short",
			"spec.devices.constraints: [{matchAttribute: a/" + strings.Repeat("b", 32) + "}]",
			"spec.devices.constraints: [{matchAttribute: a/" + strings.Repeat("b", 33) + "}]",
			"spec.devices.constraints[0].matchAttribute: Too long: may not be more than 32 bytes"},
		{"a constraint names a request", "spec.devices.constraints: [{requests: [r], matchAttribute: a/b}]",
			"spec.devices.constraints: [{requests: [s], matchAttribute: a/b}]",
			`spec.devices.constraints[0].requests[0]: Invalid value: "s": must be the name of a ` +
				"request in the claim or the name of a request and a subrequest separated by '/'"},
		{"a constraint names an alternative", "spec.devices.constraints: [{requests: [q/s], matchAttribute: a/b}]",
			"spec.devices.constraints: [{requests: [r/s], matchAttribute: a/b}]",
			`spec.devices.constraints[0].requests[0]: Invalid value: "r/s": must be the name of a ` +
				"request in the claim or the name of a request and a subrequest separated by '/'"},
		{"a constraint names a request once", "spec.devices.constraints: [{requests: [r, q], matchAttribute: a/b}]",
			"spec.devices.constraints: [{requests: [r, r], matchAttribute: a/b}]",
			`spec.devices.constraints[0].requests[1]: Duplicate value: "r"`},
		{"the name of a request has at most one slash",
			"spec.devices.constraints: [{requests: [q], matchAttribute: a/b}]",
			"spec.devices.constraints: [{requests: [q/s/t], matchAttribute: a/b}]",
			`spec.devices.constraints[0].requests[0]: Invalid value: "q/s/t": must be the name of a ` +
				"request in the claim or the name of a request and a subrequest separated by '/'"},
		{"at most 32 constraints", "spec.devices.constraints: " + kindtest.List(32, "{matchAttribute: a/b}"),
			"spec.devices.constraints: " + kindtest.List(33, "{matchAttribute: a/b}"),
			"spec.devices.constraints: Too many: 33: must have at most 32 items"},
	})
}

func TestClaimConfigurationRules(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).Create(kindtest.Rules{
		{"a configuration is opaque", "spec.devices.config: [{opaque: {driver: d, parameters: {a: b}}}]",
			"spec.devices.config: [{requests: [r]}]", "spec.devices.config[0].opaque: Required value"},
		{"a configuration names a request",
			"spec.devices.config: [{requests: [r], opaque: {driver: d, parameters: {}}}]",
			"spec.devices.config: [{requests: [s], opaque: {driver: d, parameters: {}}}]",
			`spec.devices.config[0].requests[0]: Invalid value: "s": must be the name of a request ` +
				"in the claim or the name of a request and a subrequest separated by '/'"},
		{"a configuration names a request once",
			"spec.devices.config: [{requests: [r], opaque: {driver: d, parameters: {}}}]",
			"spec.devices.config: [{requests: [r, r], opaque: {driver: d, parameters: {}}}]",
			`spec.devices.config[0].requests[1]: Duplicate value: "r"`},
		{"a driver is a subdomain", "spec.devices.config: [{opaque: {driver: a.b, parameters: {}}}]",
			"spec.devices.config: [{opaque: {driver: a_b, parameters: {}}}]",
			`spec.devices.config[0].opaque.driver: Invalid value: "a_b": an RFC 1123 subdomain must ` +
				"consist of alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'Example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"parameters are an object", "spec.devices.config: [{opaque: {driver: d, parameters: {}}}]",
			`spec.devices.config: [{opaque: {driver: d, parameters: "a"}}]`,
			`spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a ` +
				"valid JSON object"},
		{"parameters are required", "spec.devices.config: [{opaque: {driver: d, parameters: {}}}]",
			"spec.devices.config: [{opaque: {driver: d}}]",
			"spec.devices.config[0].opaque.parameters: Required value"},
		{"parameters are not null", "spec.devices.config: [{opaque: {driver: d, parameters: {}}}]",
			"spec.devices.config: [{opaque: {driver: d, parameters: null}}]",
			"spec.devices.config[0].opaque.parameters: Required value"},
		{"at most 32 configurations",
			"spec.devices.config: " + kindtest.List(32, "{opaque: {driver: d, parameters: {}}}"),
			"spec.devices.config: " + kindtest.List(33, "{opaque: {driver: d, parameters: {}}}"),
			"spec.devices.config: Too many: 33: must have at most 32 items"},
	})
}

func TestClaimUpdateRules(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).Update(kindtest.Rules{
		{"the spec is immutable", "metadata.labels: {a: b}", "spec.devices.requests[0].name: s",
			"spec: Invalid value: null: field is immutable"},
		{"labels are valid", "metadata.labels: {a: b}", "metadata.labels: {a: b c}",
			`metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist ` +
				"of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	})
}

func TestClaimAllocationRules(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).UpdateStatus(kindtest.Rules{
		{"a result names a request",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x}]",
			"status.allocation.devices.results: [{request: s, driver: d, pool: p, device: x}]",
			`status.allocation.devices.results[0].request: Invalid value: "s": must be the name of a ` +
				"request in the claim or the name of a request and a subrequest separated by '/'"},
		{"a result has a driver",
			"status.allocation.devices.results: [{request: r, driver: a.b, pool: p, device: x}]",
			"status.allocation.devices.results: [{request: r, pool: p, device: x}]",
			"status.allocation.devices.results[0].driver: Required value"},
		{"a result has a pool", "status.allocation.devices.results: [{request: r, driver: d, pool: a/b, device: x}]",
			`status.allocation.devices.results: [{request: r, driver: d, pool: "", device: x}]`,
			"status.allocation.devices.results[0].pool: Required value"},
		{"a pool is a path of subdomains",
			"status.allocation.devices.results: [{request: r, driver: d, pool: a/b, device: x}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: -x, device: x}]",
			`status.allocation.devices.results[0].pool: Invalid value: "-x": segment 0: a lowercase ` +
				"RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
				"must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the path of a pool is short",
			"status.allocation.devices.results: [{request: r, driver: d, pool: " + strings.Repeat("a", 253) +
				", device: x}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: " + strings.Repeat("a/", 130) +
				"a, device: x}]",
			"status.allocation.devices.results[0].pool: Too long: may not be more than 253 bytes"},
		{"a device is a label", "status.allocation.devices.results: [{request: r, driver: d, pool: p, device: a-b}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: a.b}]",
			`status.allocation.devices.results[0].device: Invalid value: "a.b": must not contain dots`},
		{"a share is a UUID",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"shareID: 01234567-89ab-cdef-0123-456789abcdef}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"shareID: 01234567-89AB-cdef-0123-456789abcdef}]",
			"status.allocation.devices.results[0].shareID: Invalid value: " +
				`"01234567-89AB-cdef-0123-456789abcdef": must be a lowercase UUID in 8-4-4-4-12 format`},
		{"tolerations are valid",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"tolerations: [{}]}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"tolerations: [{operator: In}]}]",
			`status.allocation.devices.results[0].tolerations[0].operator: Unsupported value: "In": ` +
				`supported values: "Equal", "Exists"`},
		{"at most 32 results",
			"status.allocation.devices.results: " +
				kindtest.List(32, "{request: r, driver: d, pool: p, device: x%d}"),
			"status.allocation.devices.results: " +
				kindtest.List(33, "{request: r, driver: d, pool: p, device: x%d}"),
			"status.allocation.devices.results: Too many: 33: must have at most 32 items"},
		{"a configuration is of the claim or the class",
			"status.allocation.devices.config: [{source: FromClass, opaque: {driver: d, parameters: {}}}]",
			"status.allocation.devices.config: [{source: FromNode, opaque: {driver: d, parameters: {}}}]",
			`status.allocation.devices.config[0].source: Unsupported value: "FromNode": supported ` +
				`values: "FromClaim", "FromClass"`},
		{"a configuration has a source",
			"status.allocation.devices.config: [{source: FromClaim, opaque: {driver: d, parameters: {}}}]",
			"status.allocation.devices.config: [{opaque: {driver: d, parameters: {}}}]",
			"status.allocation.devices.config[0].source: Required value"},
		{"a configuration names a request",
			"status.allocation.devices.config: [{source: FromClaim, requests: [r], opaque: {driver: " +
				"d, parameters: {}}}]",
			"status.allocation.devices.config: [{source: FromClaim, requests: [s], opaque: {driver: " +
				"d, parameters: {}}}]",
			`status.allocation.devices.config[0].requests[0]: Invalid value: "s": must be the name ` +
				"of a request in the claim or the name of a request and a subrequest separated by '/'"},
		{"a configuration is opaque",
			"status.allocation.devices.config: [{source: FromClaim, opaque: {driver: d, parameters: {}}}]",
			"status.allocation.devices.config: [{source: FromClaim}]",
			"status.allocation.devices.config[0].opaque: Required value"},
		{"at most 64 configurations",
			"status.allocation.devices.config: " +
				kindtest.List(64, "{source: FromClaim, opaque: {driver: d, parameters: {}}}"),
			"status.allocation.devices.config: " +
				kindtest.List(65, "{source: FromClaim, opaque: {driver: d, parameters: {}}}"),
			"status.allocation.devices.config: Too many: 65: must have at most 64 items"},
		{"a node selector has terms",
			"status.allocation.nodeSelector.nodeSelectorTerms: [{matchFields: [{key: metadata.name, " +
				"operator: In, values: [a]}]}]", "status.allocation.nodeSelector.nodeSelectorTerms: []",
			"status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least " +
				"one node selector term"},
	})
}

func TestClaimReservationRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).With(
		"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x}]")
	k.UpdateStatus(kindtest.Rules{
		{"a reservation has a resource", "status.reservedFor: [{resource: pods, name: a, uid: v}]",
			`status.reservedFor: [{resource: "", name: a, uid: v}]`,
			"status.reservedFor[0].resource: Required value"},
		{"a reservation has a name", "status.reservedFor: [{resource: pods, name: a, uid: v}]",
			`status.reservedFor: [{resource: pods, name: "", uid: v}]`, "status.reservedFor[0].name: Required value"},
		{"a reservation has a UID", "status.reservedFor: [{resource: pods, name: a, uid: v}]",
			`status.reservedFor: [{resource: pods, name: a, uid: ""}]`, "status.reservedFor[0].uid: Required value"},
		{"the UIDs of reservations differ",
			"status.reservedFor: [{resource: pods, name: a, uid: v}, {resource: pods, name: a, uid: w}]",
			"status.reservedFor: [{resource: pods, name: a, uid: v}, {resource: pods, name: b, uid: v}]",
			`status.reservedFor[1]: Duplicate value: {"resource":"pods","name":"b","uid":"v"}`},
		{"at most 256 reservations",
			"status.reservedFor: " + kindtest.List(256, "{resource: pods, name: a, uid: v%d}"),
			"status.reservedFor: " + kindtest.List(257, "{resource: pods, name: a, uid: v%d}"),
			"status.reservedFor: Too many: 257: must have at most 256 items"},
		{"a reservation needs an allocation", "status.reservedFor: [{resource: pods, name: a, uid: v}]",
			"status: {reservedFor: [{resource: pods, name: a, uid: v}]}",
			"status.reservedFor: Forbidden: may not be specified when `allocated` is not set"},
		{"an allocation is immutable", "status.allocation: null", "status.allocation.devices.results[0].device: z",
			"status.allocation: Invalid value: null: field cannot be modified once set"},
	})
}

func TestDeletedClaimStatusRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).With(
		`metadata.deletionTimestamp: "2026-05-04T11:00:00Z"; metadata.finalizers: [a.b/c]; status: ` +
			"{allocation: {}, reservedFor: [{resource: pods, name: a, uid: v}]}")
	k.UpdateStatus(kindtest.Rules{
		{"a deleted claim gets no new reservation", "status.reservedFor: []",
			"status.reservedFor[1]: {resource: pods, name: b, uid: w}",
			"status.reservedFor: Forbidden: new entries may not be added while " +
				"`deallocationRequested` or `deletionTimestamp` are set"},
	})
}

func TestClaimDeviceStatusRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).With(
		"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x}]")
	k.UpdateStatus(kindtest.Rules{
		{"a status is of an allocated device", "status.devices: [{driver: d, pool: p, device: x}]",
			"status.devices: [{driver: d, pool: p, device: z}]",
			`status.devices[0]: Invalid value: {"Driver":"d","Pool":"p","Device":"z","ShareID":""}: ` +
				"must be an allocated device in the claim"},
		{"a driver is a subdomain", "status.devices: [{driver: d, pool: p, device: x}]",
			"status.devices: [{driver: d_e, pool: p, device: x}]",
			`status.devices[0].driver: Invalid value: "d_e": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); status.devices[0]: ` +
				`Invalid value: {"Driver":"d_e","Pool":"p","Device":"x","ShareID":""}: must be an ` +
				"allocated device in the claim"},
		{"a pool is a path of subdomains", "status.devices: [{driver: d, pool: p, device: x}]",
			"status.devices: [{driver: d, pool: p_q, device: x}]",
			`status.devices[0].pool: Invalid value: "p_q": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); status.devices[0]: ` +
				`Invalid value: {"Driver":"d","Pool":"p_q","Device":"x","ShareID":""}: must be an ` +
				"allocated device in the claim"},
		{"a device is a label", "status.devices: [{driver: d, pool: p, device: x}]",
			"status.devices: [{driver: d, pool: p, device: x.z}]",
			`status.devices[0].device: Invalid value: "x.z": must not contain dots; ` +
				"status.devices[0]: Invalid value: " +
				`{"Driver":"d","Pool":"p","Device":"x.z","ShareID":""}: must be an allocated device in the claim`},
		{"a device has one status", "status.devices: [{driver: d, pool: p, device: x}]",
			"status.devices: [{driver: d, pool: p, device: x}, {driver: d, pool: p, device: x}]",
			`status.devices[1]: Duplicate value: {"driver":"d","pool":"p","device":"x","conditions":null}`},
		{"a share is a UUID", "status.devices: [{driver: d, pool: p, device: x}]",
			"status.devices: [{driver: d, pool: p, device: x, shareID: a}]",
			`status.devices[0]: Invalid value: {"Driver":"d","Pool":"p","Device":"x","ShareID":"a"}: ` +
				"must be an allocated device in the claim; status.devices[0].shareID: Invalid value: " +
				`"a": must be a lowercase UUID in 8-4-4-4-12 format`},
		{"a condition has a reason",
			`status.devices: [{driver: d, pool: p, device: x, conditions: [{type: A, status: "True", ` +
				`reason: R, message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]}]`,
			`status.devices: [{driver: d, pool: p, device: x, conditions: [{type: A, status: "True", ` +
				`reason: "", message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]}]`,
			"status.devices[0].conditions[0].reason: Required value"},
		{"at most eight conditions", "status.devices: [{driver: d, pool: p, device: x, conditions: []}]",
			"status.devices: [{driver: d, pool: p, device: x, conditions: " +
				kindtest.List(9, `{type: A%d, status: "True", reason: R, message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}`) +
				"}]", "status.devices[0].conditions: Too many: 9: must have at most 8 items"},
		{"data is an object", "status.devices: [{driver: d, pool: p, device: x, data: {a: b}}]",
			"status.devices: [{driver: d, pool: p, device: x, data: [a]}]",
			`status.devices[0].data: Invalid value: "<value omitted>": must be a valid JSON object`},
		{"data is limited",
			"status.devices: [{driver: d, pool: p, device: x, data: {a: " + strings.Repeat("b", 10232) + "}}]",
			"status.devices: [{driver: d, pool: p, device: x, data: {a: " + strings.Repeat("b", 10233) + "}}]",
			"status.devices[0].data: Too long: may not be more than 10240 bytes"},
		{"the name of an interface is short",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {interfaceName: " +
				strings.Repeat("a", 256) + "}}]",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {interfaceName: " +
				strings.Repeat("a", 257) + "}}]",
			"status.devices[0].networkData.interfaceName: Too long: may not be more than 256 bytes"},
		{"the address of hardware is short",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {hardwareAddress: " +
				strings.Repeat("a", 128) + "}}]",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {hardwareAddress: " +
				strings.Repeat("a", 129) + "}}]",
			"status.devices[0].networkData.hardwareAddress: Too long: may not be more than 128 bytes"},
		{"an address has the bits of its network",
			`status.devices: [{driver: d, pool: p, device: x, networkData: {ips: [10.1.2.3/24, "fd00::1/64"]}}]`,
			"status.devices: [{driver: d, pool: p, device: x, networkData: {ips: [10.1.2.3]}}]",
			`status.devices[0].networkData.ips[0]: Invalid value: "10.1.2.3": must be a valid ` +
				"address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"},
		{"an address is in canonical form",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {ips: [10.1.2.3/24]}}]",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {ips: [010.1.2.3/24]}}]",
			`status.devices[0].networkData.ips[0]: Invalid value: "010.1.2.3/24": must be in ` +
				`canonical form ("10.1.2.3/24")`},
		{"addresses are distinct",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {ips: [10.1.2.3/24]}}]",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {ips: [10.1.2.3/24, 10.1.2.3/24]}}]",
			`status.devices[0].networkData.ips[1]: Duplicate value: "10.1.2.3/24"`},
		{"at most 16 addresses",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {ips: " +
				kindtest.List(16, "10.1.2.%d/24") + "}}]",
			"status.devices: [{driver: d, pool: p, device: x, networkData: {ips: " +
				kindtest.List(17, "10.1.2.%d/24") + "}}]",
			"status.devices[0].networkData.ips: Too many: 17: must have at most 16 items"},
	})
}

func TestClaimCreated(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).Created(kindtest.Cases{
		{"a request is for one device", "",
			"spec.devices.requests[0].exactly.allocationMode: ExactCount; " +
				"spec.devices.requests[0].exactly.count: 1; metadata.generation: null"},
		{"a request for all devices", "spec.devices.requests[0].exactly.allocationMode: All",
			"spec.devices.requests[0].exactly.count: null"},
		{"a toleration compares values", "spec.devices.requests[0].exactly.tolerations: [{key: k}]",
			"spec.devices.requests[0].exactly.tolerations[0].operator: Equal"},
		{"an alternative is for one device",
			"spec.devices.requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c}]}]",
			"spec.devices.requests[0].firstAvailable[0].allocationMode: ExactCount; " +
				"spec.devices.requests[0].firstAvailable[0].count: 1"},
		{"a new claim has no status", "status.allocation: {}", "status: {}"},
	})
}

func TestAllocatedClaimStatus(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).StatusUpdated(kindtest.Cases{
		{"a toleration compares values",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"tolerations: [{key: k}]}]", "status.allocation.devices.results[0].tolerations[0].operator: Equal"},
	})
}

func TestClaimStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).With(
		"status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: x}]}}, " +
			"devices: [{driver: d, pool: p, device: x}]}")
	k.StatusUpdated(kindtest.Cases{
		{"the status alone",
			"spec.devices.requests[0].name: s; status.reservedFor: [{resource: pods, name: a, uid: v}]",
			"spec.devices.requests[0].name: r; status.reservedFor[0].name: a"},
		{"a device loses its status with its allocation", "status.allocation: null", "status.devices: null"},
	})
}

func TestClaimColumns(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim).Columns("Name|State|Age", kindtest.Cases{
		{"pending", "", "x|pending|60m"},
		{"allocated", "status.allocation: {}", "x|allocated|60m"},
		{"reserved",
			"status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: " +
				"x}]}}, reservedFor: [{resource: pods, name: a, uid: v}]}", "x|allocated,reserved|60m"},
		{"deleted", `metadata.deletionTimestamp: "2026-05-04T11:00:00Z"`, "x|deleted|60m"},
		{"deleted and allocated", `metadata.deletionTimestamp: "2026-05-04T11:00:00Z"; status.allocation: {}`,
			"x|deleted,allocated|60m"},
	})
}

const claimV1beta1 = `spec: {devices: {requests: [{name: r, deviceClassName: c}]}}`

func TestClaimV1beta1Rules(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1beta1.resource.k8s.io", claimV1beta1).Create(kindtest.Rules{
		{"the mode stands in the request", "spec.devices.requests[0].allocationMode: All",
			"spec.devices.requests[0].allocationMode: X",
			`spec.devices.requests[0].allocationMode: Unsupported value: "X": supported values: ` +
				`"All", "ExactCount"`},
		{"the class stands in the request", "spec.devices.requests[0].deviceClassName: a.b",
			"spec.devices.requests[0].deviceClassName: a_b",
			`spec.devices.requests[0].exactly.deviceClassName: Invalid value: "a_b": a lowercase RFC ` +
				"1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a request with a class has no alternatives",
			"spec.devices.requests[0]: {name: r, firstAvailable: [{name: s, deviceClassName: c}]}",
			"spec.devices.requests[0].firstAvailable: [{name: s, deviceClassName: c}]",
			"spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or " +
				"`firstAvailable` is required, but multiple fields are set"},
		{"a request without a class has no mode", "spec.devices.requests[0].tolerations: [{key: k}]",
			"spec.devices.requests[0]: {name: r, tolerations: [{key: k}]}",
			"spec.devices.requests[0].exactly.deviceClassName: Required value; " +
				`spec.devices.requests[0].exactly.allocationMode: Unsupported value: "": supported ` +
				`values: "All", "ExactCount"`},
		{"derived attributes make an exact request",
			"spec.devices.requests[0]: {name: r, firstAvailable: [{name: s, deviceClassName: c}]}",
			"spec.devices.requests[0]: {name: r, derivedAttributes: [], firstAvailable: [{name: s, " +
				"deviceClassName: c}]}",
			"spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or " +
				"`firstAvailable` is required, but multiple fields are set"},
	})
}

func TestClaimV1beta1Created(t *testing.T) {
	kindtest.New(t, "resourceclaims.v1beta1.resource.k8s.io", claimV1beta1).Created(kindtest.Cases{
		{"a request is for one device", "",
			"spec.devices.requests[0].allocationMode: ExactCount; spec.devices.requests[0].count: 1"},
		{"alternatives", "spec.devices.requests[0]: {name: r, firstAvailable: [{name: s, deviceClassName: c}]}",
			"spec.devices.requests[0].allocationMode: null; spec.devices.requests[0].firstAvailable[0].count: 1"},
	})
}
