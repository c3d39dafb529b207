package resource_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const deviceClass = `spec: {selectors: [{cel: {expression: "true"}}]}`

func TestDeviceClassRules(t *testing.T) {
	kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass).Create(kindtest.Rules{
		{"a name may have dots", "metadata.name: a.b", "metadata.name: a/b",
			`metadata.name: Invalid value: "a/b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a prefix of names has no slash", "metadata.generateName: A_", "metadata.generateName: a/b",
			`metadata.generateName: Invalid value: "a/b": may not contain '/'`},
		{"a selector has an expression", `spec.selectors[1].cel: {expression: device.driver == "d"}`,
			"spec.selectors[1]: {}", "spec.selectors[1].cel: Required value"},
		{"an expression is not empty", `spec.selectors[0].cel.expression: "false"`,
			`spec.selectors[0].cel.expression: ""`,
			`spec.selectors[0].cel.expression: Invalid value: "": compilation failed: ERROR: ` +
				"<input>:1:0: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', " +
				"'!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"},
		{"an expression compiles", `spec.selectors[0].cel.expression: device.driver == "d"`,
			`spec.selectors[0].cel.expression: device.name == "d"`,
			`spec.selectors[0].cel.expression: Invalid value: "device.name == \"d\"": compilation ` +
				"failed: ERROR: <input>:1:7: undefined field 'name'\n | device.name == \"d\"\n | ......^"},
		{"an expression is a condition", `spec.selectors[0].cel.expression: device.attributes["a"].b`,
			"spec.selectors[0].cel.expression: device.driver",
			`spec.selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to bool ` +
				"or the unknown type, not string"},
		{"a capacity is a quantity",
			`spec.selectors[0].cel.expression: device.capacity["a"].b.isGreaterThan(quantity("3"))`,
			`spec.selectors[0].cel.expression: device.capacity["a"].b == 3`,
			`spec.selectors[0].cel.expression: Invalid value: "device.capacity[\"a\"].b == 3": ` +
				"compilation failed: ERROR: <input>:1:24: found no matching overload for '_==_' applied " +
				"to '(kubernetes.Quantity, int)'\n | device.capacity[\"a\"].b == 3\n | .......................^"},
		{"a pattern is a regular expression", `spec.selectors[0].cel.expression: device.driver.matches("a.b")`,
			`spec.selectors[0].cel.expression: device.driver.matches("a(b")`,
			`spec.selectors[0].cel.expression: Invalid value: "device.driver.matches(\"a(b\")": ` +
				"compilation failed: ERROR: <input>:1:23: invalid matches argument\n | " +
				"device.driver.matches(\"a(b\")\n | ......................^"},
		{"an attribute is no list", `spec.selectors[0].cel.expression: device.attributes["a"].b == "a"`,
			`spec.selectors[0].cel.expression: device.attributes["a"].b.exists(x, x == "a")`,
			`spec.selectors[0].cel.expression: Invalid value: "device.attributes[\"a\"].b.exists(x, ` +
				`x == \"a\")": compilation failed: ERROR: <input>:1:23: expression of type 'any' cannot ` +
				"be range of a comprehension (must be list, map, or dynamic)\n | " +
				"device.attributes[\"a\"].b.exists(x, x == \"a\")\n | ......................^"},
		{"the cost of an expression is limited",
			`spec.selectors[0].cel.expression: device.attributes.all(x, x.contains("y"))`,
			"spec.selectors[0].cel.expression: device.attributes.all(x, device.attributes.all(y, " +
				"device.attributes.all(z, x.contains(y))))",
			"spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"},
		{"the length of an expression is limited",
			`spec.selectors[0].cel.expression: "true` + strings.Repeat(" ", 10236) + `"`,
			`spec.selectors[0].cel.expression: "true` + strings.Repeat(" ", 10237) + `"`,
			"spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"},
		{"at most 32 selectors", "spec.selectors: " + kindtest.List(32, `{cel: {expression: "true"}}`),
			"spec.selectors: " + kindtest.List(33, `{cel: {expression: "true"}}`),
			"spec.selectors: Too many: 33: must have at most 32 items"},
		{"a configuration is opaque", "spec.config: [{opaque: {driver: d, parameters: {}}}]", "spec.config: [{}]",
			"spec.config[0].opaque: Required value"},
		{"the configuration has a driver", "spec.config: [{opaque: {driver: a.b, parameters: {}}}]",
			`spec.config: [{opaque: {driver: "", parameters: {}}}]`, "spec.config[0].opaque.driver: Required value"},
		{"the name of a driver is a subdomain", "spec.config: [{opaque: {driver: A.b, parameters: {}}}]",
			"spec.config: [{opaque: {driver: a/b, parameters: {}}}]",
			`spec.config[0].opaque.driver: Invalid value: "a/b": an RFC 1123 subdomain must consist ` +
				"of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'Example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the name of a driver is short",
			"spec.config: [{opaque: {driver: " + strings.Repeat("a", 63) + ", parameters: {}}}]",
			"spec.config: [{opaque: {driver: " + strings.Repeat("a", 64) + ", parameters: {}}}]",
			"spec.config[0].opaque.driver: Too long: may not be more than 63 characters"},
		{"parameters are required", "spec.config: [{opaque: {driver: d, parameters: {a: b}}}]",
			"spec.config: [{opaque: {driver: d}}]", "spec.config[0].opaque.parameters: Required value"},
		{"parameters are an object", "spec.config: [{opaque: {driver: d, parameters: {a: [b]}}}]",
			"spec.config: [{opaque: {driver: d, parameters: [b]}}]",
			`spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object`},
		{"parameters are limited",
			"spec.config: [{opaque: {driver: d, parameters: {a: " + strings.Repeat("b", 10232) + "}}}]",
			"spec.config: [{opaque: {driver: d, parameters: {a: " + strings.Repeat("b", 10233) + "}}}]",
			"spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes"},
		{"at most 32 configurations", "spec.config: " + kindtest.List(32, "{opaque: {driver: d, parameters: {}}}"),
			"spec.config: " + kindtest.List(33, "{opaque: {driver: d, parameters: {}}}"),
			"spec.config: Too many: 33: must have at most 32 items"},
		{"an extended resource has a domain", "spec.extendedResourceName: a.b/c", "spec.extendedResourceName: pods",
			`spec.extendedResourceName: Invalid value: "pods": a name must be a domain-prefixed ` +
				"path, such as 'example.com/my-prop'"},
		{"an extended resource is not of Kubernetes", "spec.extendedResourceName: a.b/c",
			"spec.extendedResourceName: kubernetes.io/c",
			`spec.extendedResourceName: Invalid value: "kubernetes.io/c": must not have "kubernetes.io/" domain`},
		{"an extended resource has no prefix of quotas", "spec.extendedResourceName: a.b/c",
			"spec.extendedResourceName: requests.b/c",
			`spec.extendedResourceName: Invalid value: "requests.b/c": must not have "requests." prefix`},
	})
}

func TestDeviceClassUpdateRules(t *testing.T) {
	kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass).Update(kindtest.Rules{
		{"a new expression compiles", `spec.selectors[0].cel.expression: "false"`,
			`spec.selectors[0].cel.expression: "1"`,
			`spec.selectors[0].cel.expression: Invalid value: "1": must evaluate to bool or the ` +
				"unknown type, not int"},
		{"changed parameters are an object", "spec.config: [{opaque: {driver: d, parameters: {}}}]",
			"spec.config: [{opaque: {driver: d, parameters: 5}}]",
			`spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object`},
		{"an extended resource has a domain", "spec.extendedResourceName: a.b/c", "spec.extendedResourceName: pods",
			`spec.extendedResourceName: Invalid value: "pods": a name must be a domain-prefixed ` +
				"path, such as 'example.com/my-prop'"},
		{"labels are valid", "metadata.labels: {a: b}", `metadata.labels: {a: "b c"}`,
			`metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist ` +
				"of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	})
}

func TestDeviceClassGenerations(t *testing.T) {
	kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass).Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
		{"labels are no part of the spec", "metadata.labels: {a: b}", "1"},
		{"the spec", "spec.selectors: []", "2"},
	})
}

func TestDeviceClassColumns(t *testing.T) {
	kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass).Columns("Name|Age", kindtest.Cases{
		{"a class", "", "x|60m"},
	})
}

func TestListAttributeRules(t *testing.T) {
	kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass, "DRAListTypeAttributes").Create(kindtest.Rules{
		{"an attribute may be a list",
			`spec.selectors[0].cel.expression: device.attributes["a"].b.exists(x, x == "a")`,
			`spec.selectors[0].cel.expression: device.driver.exists(x, x == "a")`,
			`spec.selectors[0].cel.expression: Invalid value: "device.driver.exists(x, x == \"a\")": ` +
				"compilation failed: ERROR: <input>:1:7: expression of type 'string' cannot be range of " +
				"a comprehension (must be list, map, or dynamic)\n | device.driver.exists(x, x == \"a\")\n | " +
				"......^"},
		{"an attribute includes a value", `spec.selectors[0].cel.expression: device.attributes["a"].b.includes("a")`,
			`spec.selectors[0].cel.expression: device.attributes["a"].b.includes()`,
			"spec.selectors[0].cel.expression: Invalid value: " +
				`"device.attributes[\"a\"].b.includes()": compilation failed: ERROR: <input>:1:34: found ` +
				"no matching overload for 'includes' applied to 'dyn.()'\n | " +
				"device.attributes[\"a\"].b.includes()\n | .................................^"},
	})
}

func TestSharingDisabledRules(t *testing.T) {
	k := kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass, "-DRAConsumableCapacity", "-DRAFractionalCapacityRange")
	k.Create(kindtest.Rules{
		{"an expression without sharing knows no multiple allocations", `spec.selectors[0].cel.expression: "true"`,
			"spec.selectors[0].cel.expression: device.allowMultipleAllocations",
			`spec.selectors[0].cel.expression: Invalid value: "device.allowMultipleAllocations": ` +
				"compilation failed: ERROR: <input>:1:7: undefined field 'allowMultipleAllocations'\n | " +
				"device.allowMultipleAllocations\n | ......^"},
	})
}
