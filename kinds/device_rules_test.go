package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestDeviceErrors compares the errors of kinds of resource.k8s.io, those of rules written by hand and of
// declarative ones together, with those of kube-apiserver.
func TestDeviceErrors(t *testing.T) {
	long := strings.Repeat("a", 254)
	const (
		claim    = `{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}}`
		template = `{"spec":{"metadata":{"labels":{"a":"b"}},"spec":{}}}`
		segment  = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
			`character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
		unallocated = `status.devices[0]: Invalid value: {"Driver":"d","Pool":"p","Device":"x","ShareID":""}: must be an allocated device in the claim`
	)
	slice := func(device string) string {
		return `{"spec":{"driver":"d","pool":{"name":"p","resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a",` + device + `}]}}`
	}
	policy := func(capacity, policy string) string {
		return slice(`"allowMultipleAllocations":true,"capacity":{"m":{"value":"` + capacity + `","requestPolicy":` + policy + `}}`)
	}
	result := func(fields string) string {
		return strings.Replace(claim, `{"spec"`, `{"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","device":"x",`+fields+`}]}}},"spec"`, 1)
	}
	const valid = "spec.devices[0].capacity[m].requestPolicy.validRange."
	for _, c := range []struct {
		name, resource, version, old, text, want string
		status                                   bool
	}{
		{"an immutable claim", "resourceclaims", "v1", claim, strings.Replace(claim, `"c"`, `"C"`, 1), "spec: Invalid value: null: field is immutable", false},
		{"a long class", "resourceclaims", "v1", "", `{"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"s","deviceClassName":"` + long + `"}]}]}}}`,
			`spec.devices.requests[0].firstAvailable[0].deviceClassName: Invalid value: "` + long + `": must be no more than 253 bytes`, false},
		{"a template without labels", "resourceclaimtemplates", "v1", template, strings.Replace(template, `{"a":"b"}`, `{},"annotations":{}`, 1),
			`spec: Invalid value: {"Spec":{"Devices":{"Requests":null,"Constraints":null,"Config":null}}}: field is immutable`, false},
		{"a changed template", "resourceclaimtemplates", "v1", template, strings.Replace(template, `{"a":"b"}`, `{},"finalizers":["a"]`, 1),
			`[spec.metadata.finalizers: Forbidden: cannot be set, spec: Invalid value: {"finalizers":["a"],"Spec":{"Devices":{"Requests":null,"Constraints":null,"Config":null}}}: field is immutable]`, false},
		{"a template with an empty list", "resourceclaimtemplates", "v1", template, strings.Replace(template, `{"a":"b"}`, `{"a":"b"},"finalizers":[]`, 1),
			"spec.metadata.finalizers: Forbidden: cannot be set", false},
		{"an extended resource", "deviceclasses", "v1", "", `{"spec":{"extendedResourceName":"pods"}}`,
			`spec.extendedResourceName: Invalid value: "pods": a name must be a domain-prefixed path, such as 'example.com/my-prop'`, false},
		{"a generated name", "deviceclasses", "v1", "", `{"metadata":{"name":"x","generateName":"A_"}}`, "", false},
		{"a name with a slash", "deviceclasses", "v1", "", `{"metadata":{"name":"a/b"}}`, `metadata.name: Invalid value: "a/b": ` + segment, false},
		{"a prefix with a slash", "deviceclasses", "v1", "", `{"metadata":{"name":"x","generateName":"a/b"}}`, `metadata.generateName: Invalid value: "a/b": may not contain '/'`, false},
		{"a device of another claim", "resourceclaims", "v1", claim, strings.Replace(claim, `{"spec"`, `{"status":{"devices":[{"driver":"d","pool":"p","device":"x"}]},"spec"`, 1), unallocated, true},
		{"a share", "resourceclaims", "v1", claim, result(`"pool":"p","shareID":"a"`),
			`status.allocation.devices.results[0].shareID: Invalid value: "a": must be a lowercase UUID in 8-4-4-4-12 format`, true},
		{"a pool", "resourceclaims", "v1", claim, result(`"pool":"-x"`), `status.allocation.devices.results[0].pool: Invalid value: "-x": segment 0: ` + segment, true},
		{"tolerations have defaults", "resourceclaims", "v1", claim, result(`"pool":"p","tolerations":[{}]`), "", true},
		{"a counter", "resourceslices", "v1", "", slice(`"consumesCounters":[{"counterSet":"s","counters":{"` + long + `":{"value":"1"}}}]`),
			`spec.devices[0].consumesCounters[0].counters: Invalid value: "` + long + `": must be no more than 63 bytes`, false},
		{"equal values", "resourceslices", "v1", "", policy("10", `{"default":"5","validValues":["500m","600m","5"]}`),
			`spec.devices[0].capacity[m].requestPolicy.validValues[1]: Duplicate value: "1"`, false},
		{"a negative range", "resourceslices", "v1", "", policy("10", `{"default":"4","validRange":{"min":"-1","max":"7","step":"2"}}`),
			valid + `min: Invalid value: "-1": must be greater than or equal to 0`, false},
		{"a range beyond 64 bits", "resourceslices", "v1", "", policy("100E", `{"default":"10E","validRange":{"min":"1","max":"99E","step":"2"}}`),
			"[" + valid + `default: Invalid value: "10E": must not be larger than 9223372036854775807, ` + valid + `max: Invalid value: "99E": must not be larger than 9223372036854775807]`, false},
		{"a disabled list", "resourceslices", "v1", "", slice(`"attributes":{"a":{"string":"s","bools":[]}}`), "", false},
		{"the mode of a request in v1beta1", "resourceclaims", "v1beta1", "", `{"spec":{"devices":{"requests":[{"name":"r","deviceClassName":"c","allocationMode":"X"}]}}}`,
			`spec.devices.requests[0].allocationMode: Unsupported value: "X": supported values: "All", "ExactCount"`, false},
		{"derived attributes make a request in v1beta1", "resourceclaims", "v1beta1", "", `{"spec":{"devices":{"requests":[{"name":"r","derivedAttributes":[],"firstAvailable":[{"name":"s","deviceClassName":"c"}]}]}}}`,
			"spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set", false},
		{"a request without a class has no mode in v1beta1", "resourceclaims", "v1beta1", "", `{"spec":{"devices":{"requests":[{"name":"r","tolerations":[{"key":"k"}]}]}}}`,
			`[spec.devices.requests[0].exactly.deviceClassName: Required value, spec.devices.requests[0].exactly.allocationMode: Unsupported value: "": supported values: "All", "ExactCount"]`, false},
		{"an empty list in a template", "resourceclaimtemplates", "v1", template, strings.Replace(template, `"spec":{}}`, `"spec":{"devices":{"requests":[]}}}`, 1),
			"", false},
		{"a taint in v1beta1", "resourceslices", "v1beta1", "", `{"spec":{"driver":"d","pool":{"name":"p","resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a","basic":{"taints":[{"key":"k"}]}}]}}`,
			"spec.devices[0].basic.taints[0].effect: Required value", false},
	} {
		r, v := kindInVersion(t, features.Default(), c.resource, c.version)
		read := func(text string) api.Object {
			obj := r.NewOf(v)
			if err := json.Unmarshal([]byte(text), obj); err != nil {
				t.Fatal(err)
			}
			hub, err := r.Decoded(v, obj)
			if err != nil {
				t.Fatal(err)
			}
			if hub.GetName() == "" {
				hub.SetName("x")
			}
			if r.Namespaced {
				hub.SetNamespace(metav1.NamespaceDefault)
			}
			return hub
		}
		obj := read(c.text)
		var errs field.ErrorList
		if c.old == "" {
			prepare(r, obj, nil)
			errs = r.CheckCreate(v, obj)
		} else {
			old := read(c.old)
			old.SetResourceVersion("1")
			obj.SetResourceVersion("1")
			if c.status {
				prepareStatus(r, obj, old)
				errs = checkStatus(r, v, obj, old)
			} else {
				prepare(r, obj, old)
				errs = checkUpdate(r, v, obj, old)
			}
		}
		got := ""
		if len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestSliceGeneration checks that a change counts although it is dropped.
func TestSliceGeneration(t *testing.T) {
	r, _ := kindInVersion(t, features.Default(), "resourceslices", "v1")
	const text = `{"metadata":{"generation":1},"spec":{"driver":"d","nodeName":"n","pool":{"name":"p","resourceSliceCount":1},"devices":[{"name":"a","attributes":{"a":{"string":"s"X}}}]}}`
	for added, want := range map[string]int64{"": 1, `,"bools":[true]`: 2} {
		old, obj := ruleObject(t, r, strings.Replace(text, "X", "", 1)), ruleObject(t, r, strings.Replace(text, "X", added, 1))
		prepare(r, obj, old)
		if got := obj.GetGeneration(); got != want {
			t.Errorf("with %q added the generation is %d, want %d", added, got, want)
		}
	}
}

// TestGatedDeviceErrors compares the errors of rules that need feature gates with those of kube-apiserver.
func TestGatedDeviceErrors(t *testing.T) {
	gates, err := features.New(map[string]bool{"AllAlpha": true, "AllBeta": true})
	if err != nil {
		t.Fatal(err)
	}
	const nested = "device.attributes.all(x, device.attributes.all(y, device.attributes.all(z, x.contains(y))))"
	derived := func(constraint string, attributes ...string) string {
		return `{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","derivedAttributes":[` + strings.Join(attributes, ",") +
			`]}},{"name":"q","firstAvailable":[{"name":"s","deviceClassName":"c"}]}],"constraints":[` + constraint + `]}}}`
	}
	attribute := func(name, expression string) string {
		return `{"name":"` + name + `","expression":"` + strings.ReplaceAll(expression, `"`, `\"`) + `"}`
	}
	device := func(fields string) string {
		return `{"spec":{"driver":"d","pool":{"name":"p","resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a",` + fields + `}]}}`
	}
	policy := func(policy string) string {
		return device(`"allowMultipleAllocations":true,"capacity":{"m":{"value":"10","requestPolicy":` + policy + `}}`)
	}
	class := func(expression string) string {
		return `{"spec":{"selectors":[{"cel":{"expression":"` + strings.ReplaceAll(expression, `"`, `\"`) + `"}}]}}`
	}
	const (
		first       = "spec.devices.requests[0].exactly.derivedAttributes[0]."
		unconnected = "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"
		resources   = "spec.devices[0].nodeAllocatableResources"
		selector    = "spec.selectors[0].cel.expression: "
		validRange  = "spec.devices[0].capacity[m].requestPolicy.validRange."
	)
	const matches = `{"matchAttribute":"a/x"}`
	for _, c := range []struct {
		name  string
		gates features.Gates
		kind  string
		text  string
		want  string
	}{
		{"a derived attribute", gates, "resourceclaims", derived(matches, attribute("a/x", "device.driver")), ""},
		{"one for a request", gates, "resourceclaims", derived(`{"requests":["r"],"matchAttribute":"a/x"}`, attribute("a/x", "device.driver")), ""},
		{"one for another request", gates, "resourceclaims", derived(`{"requests":["q/s"],"matchAttribute":"a/x"}`, attribute("a/x", "device.driver")),
			first + `name: Invalid value: "a/x": ` + unconnected},
		{"a list", gates, "resourceclaims", derived(matches, attribute("a/x", "[device.driver]")), ""},
		{"a list of lists", gates, "resourceclaims", derived(matches, attribute("a/x", "[[1]]")),
			first + `expression: Invalid value: "[[1]]": must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of these scalars, not list(list(int))`},
		{"an expensive attribute", gates, "resourceclaims", derived(matches, attribute("a/x", nested)),
			"[" + first + "expression: Forbidden: too complex, exceeds cost limit, spec.devices: Forbidden: too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit]"},
		{"equal names", gates, "resourceclaims", derived(matches, attribute("a/x", "true"), attribute("a/x", "true")),
			`spec.devices.requests[0].exactly.derivedAttributes[1]: Duplicate value: "a/x"`},
		{"no name", gates, "resourceclaims", derived(matches, `{"expression":"true"}`), first + "name: Required value"},
		{"a disabled constraint", features.Gates{"DRAPrioritizedList": true}, "resourceclaims", derived("{}"), "spec.devices.constraints[0].matchAttribute: Required value"},

		{"an expensive selector", features.Default(), "deviceclasses", class(nested), selector + "Forbidden: too complex, exceeds cost limit"},
		{"a quantity", features.Default(), "deviceclasses", class(`device.capacity["a"].b == 3`), selector + `Invalid value: "device.capacity[\"a\"].b == 3": ` +
			"compilation failed: ERROR: <input>:1:24: found no matching overload for '_==_' applied to '(kubernetes.Quantity, int)'\n | device.capacity[\"a\"].b == 3\n | .......................^"},
		{"a pattern", features.Default(), "deviceclasses", class(`device.driver.matches("a(b")`),
			selector + `Invalid value: "device.driver.matches(\"a(b\")": compilation failed: ERROR: <input>:1:23: invalid matches argument` +
				"\n | device.driver.matches(\"a(b\")\n | ......................^"},
		{"a list attribute", features.Default(), "deviceclasses", class(`device.attributes["a"].b.exists(x, x == "a")`), selector +
			`Invalid value: "device.attributes[\"a\"].b.exists(x, x == \"a\")": compilation failed: ERROR: <input>:1:23: expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)` +
			"\n | device.attributes[\"a\"].b.exists(x, x == \"a\")\n | ......................^"},
		{"an enabled list attribute", gates, "deviceclasses", class(`device.attributes["a"].b.exists(x, x == "a")`), ""},
		{"sharing is disabled", nil, "deviceclasses", class("device.allowMultipleAllocations"), selector + `Invalid value: "device.allowMultipleAllocations": ` +
			"compilation failed: ERROR: <input>:1:7: undefined field 'allowMultipleAllocations'\n | device.allowMultipleAllocations\n | ......^"},

		{"resources of the node", gates, "resourceslices", device(`"capacity":{"m":{"value":"1"}},"nodeAllocatableResources":{"cpu":{"mapping":{"capacityKey":"m","capacityMultiplier":"1"}},"memory":{"overhead":{"perPod":"0"}}}`), ""},
		{"no resource of a node", gates, "resourceslices", device(`"nodeAllocatableResources":{"pods":{}}`),
			`[` + resources + `[pods]: Invalid value: "pods": must be a node allocatable resource name, ` + resources + "[pods]: Required value: at least one of mapping or overhead must be set]"},
		{"an unknown capacity", gates, "resourceslices", device(`"nodeAllocatableResources":{"cpu":{"mapping":{"capacityKey":"m"}}}`),
			`[` + resources + `[cpu].mapping.capacityKey: Not found: "m", ` + resources + "[cpu].mapping.capacityMultiplier: Required value: capacityMultiplier is required when capacityKey is set]"},
		{"overhead", gates, "resourceslices", device(`"nodeAllocatableResources":{"cpu":{"overhead":{}},"memory":{"overhead":{"perPod":"-1"}}}`),
			`[` + resources + `[cpu].overhead: Invalid value: "": at least one of perPod or perContainer must be set, ` + resources + `[memory].overhead.perPod: Invalid value: "-1": must be non-negative]`},

		{"fractions are distinct", gates, "resourceslices", policy(`{"default":"5","validValues":["500m","600m","5"]}`), ""},
		{"a fractional step", gates, "resourceslices", policy(`{"default":"1","validRange":{"min":"500m","max":"2","step":"300m"}}`),
			validRange + `step: Invalid value: "1": value is not a multiple of a given step (300m) from (500m)`},
		{"a fraction too small", gates, "resourceslices", policy(`{"default":"1","validRange":{"min":"500u","max":"2","step":"1"}}`),
			validRange + `min: Invalid value: "500u": value cannot be represented as a milli value`},
	} {
		r, v := kindInVersion(t, c.gates, c.kind, "v1")
		obj := ruleObject(t, r, c.text)
		if r.Namespaced {
			obj.SetNamespace(metav1.NamespaceDefault)
		}
		prepare(r, obj, nil)
		got := ""
		if errs := r.CheckCreate(v, obj); len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}

	r, v := kindInVersion(t, gates, "resourceclaims", "v1")
	const claim = `{"metadata":{"namespace":"default","resourceVersion":"1"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}`
	old := ruleObject(t, r, claim+"}")
	obj := ruleObject(t, r, claim+`,"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p","device":"x","skipNodeOperations":["NodePrepareResources"]}]}}}}`)
	prepareStatus(r, obj, old)
	want := `status.allocation.devices.results[0].skipNodeOperations: Invalid value: ["NodePrepareResources"]: NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped`
	if errs := checkStatus(r, v, obj, old); len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("a skipped preparation: %v", errs)
	}
}

// kindInVersion returns a kind with some feature gates, and one of its versions.
func kindInVersion(t *testing.T, gates features.Gates, resource, version string) (*api.Resource, *api.Version) {
	t.Helper()
	for _, r := range For(gates) {
		for i := range r.Versions {
			if r.Name == resource && r.Versions[i].GroupVersion.Version == version {
				return r, &r.Versions[i]
			}
		}
	}
	t.Fatalf("no %s in %s", resource, version)
	return nil, nil
}
