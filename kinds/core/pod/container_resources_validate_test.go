package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestContainerResourceRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"resource", "spec.containers[0].resources.limits: {cpu: 1, memory: 1Gi}",
			"spec.containers[0].resources.limits: {disk: 1}",
			`spec.containers[0].resources.limits[disk]: Invalid value: "disk": must be a standard ` +
				"resource type or fully qualified; spec.containers[0].resources.limits[disk]: Invalid value: " +
				`"disk": must be a standard resource for containers; ` +
				`spec.containers[0].resources.requests[disk]: Invalid value: "disk": must be a standard ` +
				"resource type or fully qualified; spec.containers[0].resources.requests[disk]: Invalid " +
				`value: "disk": must be a standard resource for containers`},
		{"name", "spec.containers[0].resources.limits: {cpu: 1}", `spec.containers[0].resources.limits: {"a b": 1}`,
			`spec.containers[0].resources.limits[a b]: Invalid value: "a b": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); spec.containers[0].resources.limits[a b]: " +
				`Invalid value: "a b": must be a standard resource for containers; ` +
				`spec.containers[0].resources.requests[a b]: Invalid value: "a b": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); spec.containers[0].resources.requests[a b]: " +
				`Invalid value: "a b": must be a standard resource for containers`},
		{"negative", "spec.containers[0].resources.requests: {cpu: 0}",
			"spec.containers[0].resources.requests: {cpu: -1}",
			`spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`},
		{"request above limit", "spec.containers[0].resources: {requests: {cpu: 1}, limits: {cpu: 1}}",
			"spec.containers[0].resources: {requests: {cpu: 2}, limits: {cpu: 1}}",
			`spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to ` +
				"cpu limit of 1"},
		{"request of a device", "spec.containers[0].resources: {limits: {example.com/a: 1}}",
			"spec.containers[0].resources: {requests: {example.com/a: 1}}",
			"spec.containers[0].resources.limits: Required value: Limit must be set for non " +
				"overcommitable resources"},
		{"limit of a device",
			"spec.containers[0].resources: {requests: {example.com/a: 1}, limits: {example.com/a: 1}}",
			"spec.containers[0].resources: {requests: {example.com/a: 1}, limits: {example.com/a: 2}}",
			`spec.containers[0].resources.requests: Invalid value: "1": must be equal to example.com/a limit of 2`},
		{"fraction of a device", "spec.containers[0].resources: {limits: {example.com/a: 2}}",
			"spec.containers[0].resources: {limits: {example.com/a: 500m}}",
			`spec.containers[0].resources.limits[example.com/a]: Invalid value: "500m": must be an ` +
				`integer; spec.containers[0].resources.requests[example.com/a]: Invalid value: "500m": must ` +
				"be an integer"},
		{"hugepages", "spec.containers[0].resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}",
			"spec.containers[0].resources: {limits: {hugepages-2Mi: 2Mi}}",
			"spec.containers[0].resources: Forbidden: HugePages require cpu or memory"},
		{"size of hugepages", "spec.containers[0].resources: {limits: {cpu: 1, hugepages-2Mi: 4Mi}}",
			"spec.containers[0].resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi}}",
			`spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not ` +
				"positive integer multiple of hugepages-2Mi; " +
				`spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not ` +
				"positive integer multiple of hugepages-2Mi"},
		{"claim",
			"spec.resourceClaims: [{name: r, resourceClaimName: c}]; " +
				"spec.containers[0].resources.claims: [{name: r}]",
			`spec.containers[0].resources.claims: [{name: ""}]`,
			"spec.containers[0].resources.claims[0]: Required value"},
		{"claim twice",
			"spec.resourceClaims: [{name: r, resourceClaimName: c}]; " +
				"spec.containers[0].resources.claims: [{name: r, request: a}, {name: r, request: b}]",
			"spec.resourceClaims: [{name: r, resourceClaimName: c}]; " +
				"spec.containers[0].resources.claims: [{name: r}, {name: r}]",
			`spec.containers[0].resources.claims[1]: Duplicate value: "r"`},
		{"resources of the pod", "spec.resources: {limits: {cpu: 1}}", "spec.resources: {limits: {disk: 1}}",
			`spec.resources.limits[disk]: Invalid value: "disk": must be a standard resource type or ` +
				"fully qualified"},
		{"pod below its containers",
			"spec.resources: {requests: {cpu: 1}}; spec.containers[0].resources.requests: {cpu: 1}",
			"spec.resources: {requests: {cpu: 1}}; spec.containers[0].resources.requests: {cpu: 2}",
			`spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to ` +
				"aggregate container requests of 2"},
		{"limit of the pod below a container",
			"spec.resources: {limits: {cpu: 2}}; spec.containers[0].resources.limits: {cpu: 2}",
			"spec.resources: {limits: {cpu: 1}}; spec.containers[0].resources.limits: {cpu: 2}",
			`spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1; ` +
				`spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to ` +
				"pod limits of 1"},
		{"requests above limits of the pod", "spec.resources: {requests: {cpu: 1}, limits: {cpu: 1}}",
			"spec.resources: {requests: {cpu: 2}, limits: {cpu: 1}}",
			`spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`},
		{"claims of the pod", "spec.resources: {limits: {memory: 1Gi}}", "spec.resources: {claims: [{name: a}]}",
			"spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level; " +
				`spec.resources.claims[0]: Not found: "a": must be one of the names in ` +
				"pod.spec.resourceClaims which is empty"},
	})
}

func TestContainerResourceDefaults(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Created(kindtest.Cases{
		{"requests from limits", "spec.containers[0].resources.limits: {cpu: 1}",
			`spec.containers[0].resources.requests.cpu: "1"; status.qosClass: Burstable`},
		{"best effort", "", "status.qosClass: BestEffort"},
		{"burstable", "spec.containers[0].resources.requests: {cpu: 1}", "status.qosClass: Burstable"},
		{"guaranteed", "spec.containers[0].resources.limits: {cpu: 1, memory: 1Gi}",
			"status.qosClass: Guaranteed; spec.containers[0].resources.requests.memory: 1Gi"},
		{"rounded", "spec.containers[0].resources.requests: {cpu: 0.1m}",
			"spec.containers[0].resources.requests.cpu: 1m"},
		{"of the pod", "spec.resources.limits: {cpu: 2}; spec.containers[0].resources.requests: {cpu: 1}",
			`spec.resources.requests.cpu: "1"; status.qosClass: Burstable`},
	})
}
