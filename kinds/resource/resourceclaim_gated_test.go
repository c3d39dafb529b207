package resource_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestClaimBindingConditionRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim, "DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
	k.UpdateStatus(kindtest.Rules{
		{"binding conditions come with failures",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a], bindingFailureConditions: [b]}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a]}]",
			"status.allocation.devices.results[0].bindingFailureConditions: Invalid value: null: " +
				"bindingFailureConditions are required to use bindingConditions"},
		{"failures come with binding conditions",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a], bindingFailureConditions: [b]}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingFailureConditions: [b]}]",
			"status.allocation.devices.results[0].bindingConditions: Invalid value: null: " +
				"bindingConditions are required to use bindingFailureConditions"},
		{"a condition is no failure",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a], bindingFailureConditions: [b]}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a], bindingFailureConditions: [a]}]",
			`status.allocation.devices.results[0].bindingFailureConditions[0]: Invalid value: "a": ` +
				"bindingFailureConditions must not overlap with bindingConditions"},
		{"conditions are distinct",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a, b], bindingFailureConditions: [c, d]}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a, a], bindingFailureConditions: [c, c]}]",
			`status.allocation.devices.results[0].bindingConditions[1]: Duplicate value: "a"; ` +
				`status.allocation.devices.results[0].bindingFailureConditions[1]: Duplicate value: "c"`},
		{"a condition is a qualified name",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a.b/c], bindingFailureConditions: [b]}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: [a b], bindingFailureConditions: [b]}]",
			`status.allocation.devices.results[0].bindingConditions[0]: Invalid value: "a b": name ` +
				"part must consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
				"with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used " +
				"for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"at most four conditions",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: " + kindtest.List(4, "a%d") + ", bindingFailureConditions: " +
				kindtest.List(4, "b%d") + "}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"bindingConditions: " + kindtest.List(5, "a%d") + ", bindingFailureConditions: " +
				kindtest.List(5, "b%d") + "}]",
			"status.allocation.devices.results[0].bindingConditions: Too many: 5: must have at most " +
				"4 items; status.allocation.devices.results[0].bindingFailureConditions: Too many: 5: " +
				"must have at most 4 items"},
	})
}

func TestClaimDistinctAttributeRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim, "DRAConsumableCapacity", "DRAListTypeAttributes", "DRADerivedAttributes")
	k.Create(kindtest.Rules{
		{"an attribute is matched or distinct", "spec.devices.constraints: [{distinctAttribute: a/b}]",
			"spec.devices.constraints: [{}]",
			`spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or ` +
				`"distinctAttribute" is required, but multiple fields are set`},
		{"a distinct attribute has a domain", "spec.devices.constraints: [{distinctAttribute: a/b}]",
			"spec.devices.constraints: [{distinctAttribute: b}]",
			`spec.devices.constraints[0].distinctAttribute: Invalid value: "b": a fully qualified ` +
				"name must be a domain and a name separated by a slash"},
	})
}

func TestClaimDerivedAttributeRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim, "DRAConsumableCapacity", "DRAListTypeAttributes", "DRADerivedAttributes").With(
		"spec.devices.constraints: [{matchAttribute: a/x}]; spec.devices.requests[1]: {name: q, " +
			"firstAvailable: [{name: s, deviceClassName: c}]}")
	k.Create(kindtest.Rules{
		{"a constraint compares a derived attribute",
			"spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: device.driver}]",
			"spec.devices.requests[0].exactly.derivedAttributes: [{name: a/z, expression: device.driver}]",
			`spec.devices.requests[0].exactly.derivedAttributes[0].name: Invalid value: "a/z": must ` +
				"be referenced by at least one matchAttribute or distinctAttribute constraint targeting " +
				"this request"},
		{"a constraint of the request compares it",
			"spec.devices.constraints: [{requests: [r], matchAttribute: a/x}]; " +
				"spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: device.driver}]",
			"spec.devices.constraints: [{requests: [q/s], matchAttribute: a/x}]; " +
				"spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: device.driver}]",
			`spec.devices.requests[0].exactly.derivedAttributes[0].name: Invalid value: "a/x": must ` +
				"be referenced by at least one matchAttribute or distinctAttribute constraint targeting " +
				"this request"},
		{"a constraint of the alternative compares it",
			"spec.devices.constraints: [{requests: [q/s], matchAttribute: a/x}]; " +
				"spec.devices.requests[1].firstAvailable[0].derivedAttributes: [{name: a/x, expression: " +
				"device.driver}]",
			"spec.devices.constraints: [{requests: [r], matchAttribute: a/x}]; " +
				"spec.devices.requests[1].firstAvailable[0].derivedAttributes: [{name: a/x, expression: " +
				"device.driver}]",
			"spec.devices.requests[1].firstAvailable[0].derivedAttributes[0].name: Invalid value: " +
				`"a/x": must be referenced by at least one matchAttribute or distinctAttribute ` +
				"constraint targeting this request"},
		{"the names of derived attributes differ",
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "true"}]`,
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "true"}, ` +
				`{name: a/x, expression: "true"}]`,
			`spec.devices.requests[0].exactly.derivedAttributes[1]: Duplicate value: "a/x"`},
		{"a derived attribute has a name",
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "true"}]`,
			`spec.devices.requests[0].exactly.derivedAttributes: [{expression: "true"}]`,
			"spec.devices.requests[0].exactly.derivedAttributes[0].name: Required value"},
		{"a derived attribute has an expression",
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "true"}]`,
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: ""}]`,
			"spec.devices.requests[0].exactly.derivedAttributes[0].expression: Required value"},
		{"a derived attribute is a value or a list of values",
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "[device.driver]"}]`,
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "[[1]]"}]`,
			"spec.devices.requests[0].exactly.derivedAttributes[0].expression: Invalid value: " +
				`"[[1]]": must evaluate to a primitive scalar (string, integer, boolean, semver) or a ` +
				"list of these scalars, not list(list(int))"},
		{"a derived attribute is no map",
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "1"}]`,
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "device.attributes"}]`,
			"spec.devices.requests[0].exactly.derivedAttributes[0].expression: Invalid value: " +
				`"device.attributes": must evaluate to a primitive scalar (string, integer, boolean, ` +
				"semver) or a list of these scalars, not map(string, map(string, dyn))"},
		{"the cost of derived attributes is limited",
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "true"}]`,
			"spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: " +
				`"device.attributes.all(x, device.attributes.all(y, device.attributes.all(z, x.contains(y))))"}]`,
			"spec.devices.requests[0].exactly.derivedAttributes[0].expression: Forbidden: too " +
				"complex, exceeds cost limit; spec.devices: Forbidden: too complex, total cost of " +
				"derived attribute CEL expressions in the claim exceeds cost limit"},
	})
}

func TestClaimDerivedScalarRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim, "DRADerivedAttributes").With(
		"spec.devices.constraints: [{matchAttribute: a/x}]")
	k.Create(kindtest.Rules{
		{"a derived attribute is no list without lists",
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "1"}]`,
			`spec.devices.requests[0].exactly.derivedAttributes: [{name: a/x, expression: "[1]"}]`,
			`spec.devices.requests[0].exactly.derivedAttributes[0].expression: Invalid value: "[1]": ` +
				"must evaluate to a primitive scalar (string, integer, boolean, semver), not list(int)"},
	})
}

func TestClaimSkippedOperationRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim, "DRAOptionalNodeOperations")
	k.UpdateStatus(kindtest.Rules{
		{"who prepares no resources does not unprepare them",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"skipNodeOperations: [NodePrepareResources, NodeUnprepareResources]}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"skipNodeOperations: [NodePrepareResources]}]",
			"status.allocation.devices.results[0].skipNodeOperations: Invalid value: " +
				`["NodePrepareResources"]: NodePrepareResources cannot be skipped unless ` +
				"NodeUnprepareResources is also skipped"},
		{"the skipped operations are known",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"skipNodeOperations: ['*']}]",
			"status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, " +
				"skipNodeOperations: [Other]}]",
			`status.allocation.devices.results[0].skipNodeOperations[0]: Unsupported value: "Other": ` +
				`supported values: "*", "NodePrepareResources", "NodeUnprepareResources"`},
	})
}

func TestClaimSharingDisabledRules(t *testing.T) {
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim, "-DRAConsumableCapacity", "-DRAFractionalCapacityRange")
	k.Create(kindtest.Rules{
		{"a constraint matches an attribute", "spec.devices.constraints: [{matchAttribute: a/b}]",
			"spec.devices.constraints: [{distinctAttribute: a/b}]",
			"spec.devices.constraints[0].matchAttribute: Required value"},
	})
}
