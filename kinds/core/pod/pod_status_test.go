package pod_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// TestPodStatusFields checks the fields that kubelets and controllers report.
func TestPodStatusFields(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).UpdateStatus(kindtest.Rules{
		{"generation", "status.observedGeneration: 0", "status.observedGeneration: -1",
			"status.observedGeneration: Invalid value: -1: must be a non-negative integer"},
		{"generation of a condition", `status.conditions: [{type: Ready, status: "True", observedGeneration: 0}]`,
			`status.conditions: [{type: Ready, status: "True", observedGeneration: -1}]`,
			"status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer"},
		{"type of a condition", `status.conditions: [{type: example.com/ready, status: "True"}]`,
			`status.conditions: [{type: "a b", status: "True"}]`,
			`status.conditions[0].Type: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"empty address", "status.podIPs: [{ip: 10.0.0.1}]", "status.podIPs: [{}]",
			`status.podIPs[0]: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or ` +
				`2001:db8::ffff); status.podIPs: Invalid value: [{"IP":""}]: podIP and podIPs must either ` +
				"both be set or both be unset"},
		{"two addresses", `status.podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}]`,
			`status.podIPs: [{ip: "fd00::2"}, {ip: "fd00::1"}]`,
			`status.podIPs: Invalid value: [{"IP":"fd00::2"},{"IP":"fd00::1"}]: may specify no more than ` +
				"one IP for each IP family"},
		{"address of the node without the list", "status.hostIP: 10.0.0.1", "status.hostIPs: [{ip: 10.0.0.1}]",
			"status.hostIPs[0].ip: Invalid value: \"10.0.0.1\": must be equal to `hostIP`"},
		{"malformed address of the node", "status.hostIP: 10.0.0.1; status.hostIPs: [{ip: 10.0.0.1}]",
			"status.hostIP: a; status.hostIPs: [{ip: a}]",
			`status.hostIPs[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"claim", "metadata.labels: {a: b}", "status.resourceClaimStatuses: [{name: d, resourceClaimName: e}]",
			`status.resourceClaimStatuses[0].name: Invalid value: "d": must match the name of an entry ` +
				"in `spec.resourceClaims`"},
		{"user", "status.containerStatuses: [{name: c, image: i, imageID: j, user: {linux: {uid: 0, gid: 0}}}]",
			"status.containerStatuses: [{name: c, image: i, imageID: j, user: {linux: {uid: 4294967296, gid: 0}}}]",
			"status.containerStatuses[0].user.linux.uid: Invalid value: 4294967296: must be between 0 " +
				"and 4294967295, inclusive"},
		{"group", "status.containerStatuses: [{name: c, image: i, imageID: j, user: {linux: {uid: 1, gid: 1}}}]",
			"status.containerStatuses: [{name: c, image: i, imageID: j, user: {linux: {uid: 1, gid: -1}}}]",
			"status.containerStatuses[0].user.linux.gid: Invalid value: -1: must be between 0 and " +
				"2147483647, inclusive"},
		{"supplemental group",
			"status.containerStatuses: [{name: c, image: i, imageID: j, user: {linux: {uid: 1, gid: 1, " +
				"supplementalGroups: [1]}}}]",
			"status.containerStatuses: [{name: c, image: i, imageID: j, user: {linux: {uid: 1, gid: 1, " +
				"supplementalGroups: [1, -1]}}}]",
			"status.containerStatuses[0].user.linux.supplementalGroups[1]: Invalid value: -1: must be " +
				"between 0 and 2147483647, inclusive"},
	})
}

// TestPodStatusOfWindows checks that containers of Windows have no Linux users.
func TestPodStatusOfWindows(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.os.name: windows").UpdateStatus(kindtest.Rules{
		{"user", "status.containerStatuses: [{name: c, image: i, imageID: j}]",
			"status.containerStatuses: [{name: c, image: i, imageID: j, user: {linux: {uid: 1, gid: 1}}}]",
			"status.containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod"},
	})
}

// TestPodStatusOfBoundPod checks that only pods without a node are nominated for one.
func TestPodStatusOfBoundPod(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.nodeName: node").UpdateStatus(kindtest.Rules{
		{"nominated node", "status.phase: Running", "status.nominatedNodeName: other",
			"status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"},
	})
}

// TestPodClaimStatuses checks the claims that were made for a pod.
func TestPodClaimStatuses(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.resourceClaims: [{name: a, resourceClaimTemplateName: t}, {name: b, resourceClaimName: c}]")
	k.UpdateStatus(kindtest.Rules{
		{"name", "status.resourceClaimStatuses: [{name: a, resourceClaimName: d}]",
			"status.resourceClaimStatuses: [{name: c, resourceClaimName: d}]",
			`status.resourceClaimStatuses[0].name: Invalid value: "c": must match the name of an entry ` +
				"in `spec.resourceClaims`"},
		{"name twice",
			"status.resourceClaimStatuses: [{name: a, resourceClaimName: d}, {name: b, resourceClaimName: d}]",
			"status.resourceClaimStatuses: [{name: a, resourceClaimName: d}, {name: a, resourceClaimName: d}]",
			`status.resourceClaimStatuses[1].name: Duplicate value: "a"`},
		{"name of the claim", "status.resourceClaimStatuses: [{name: a, resourceClaimName: d.e}]",
			"status.resourceClaimStatuses: [{name: a, resourceClaimName: D}]",
			`status.resourceClaimStatuses[0].resourceClaimName: Invalid value: "D": a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
				"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

// TestAllocatedResources checks the health of the devices of a container.
func TestAllocatedResources(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}; " +
			"status.containerStatuses: [{name: c, image: i, imageID: j, allocatedResourcesStatus: [{name: " +
			`example.com/gpu, resources: [{resourceID: "1", health: Healthy}]}]}]`)
	k.UpdateStatus(kindtest.Rules{
		{"resource that is not requested",
			"status.containerStatuses[0].allocatedResourcesStatus[0].name: example.com/gpu",
			"status.containerStatuses[0].allocatedResourcesStatus[0].name: example.com/nic",
			"status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: " +
				`"example.com/nic": must match one of the container's resource requests`},
		{"claim of the container", "status.containerStatuses[0].allocatedResourcesStatus: []",
			"status.containerStatuses[0].allocatedResourcesStatus[0].name: claim:a",
			`status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "claim:a": ` +
				"must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when " +
				"container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"},
		{"health", "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unknown",
			"status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Fine",
			"status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported " +
				`value: "Fine": supported values: "Healthy", "Unhealthy", "Unknown"`},
		{"resource twice",
			`status.containerStatuses[0].allocatedResourcesStatus[0].resources[1]: {resourceID: "2", ` +
				"health: Unhealthy}",
			`status.containerStatuses[0].allocatedResourcesStatus[0].resources[1]: {resourceID: "1", ` +
				"health: Unhealthy}",
			`status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "1"`},
		{"empty message", "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: a",
			`status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: ""`,
			"status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Required " +
				"value: must be non-empty if specified"},
		{"length of a message",
			"status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: " +
				strings.Repeat("a", 1024),
			"status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: " +
				strings.Repeat("a", 1025),
			"status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Too long: may " +
				"not be more than 1024 bytes"},
		{"unknown container",
			"status.containerStatuses[0]: {name: d, image: i, imageID: j, allocatedResourcesStatus: " +
				"[{name: x.y/z}]}", "status.containerStatuses[0].allocatedResourcesStatus[0]: {name: x.y/z}",
			`status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "x.y/z": must ` +
				"match one of the container's resource requests"},
		{"ephemeral container", "status.ephemeralContainerStatuses: [{name: c, image: i, imageID: j}]",
			"status.ephemeralContainerStatuses: [{name: c, image: i, imageID: j, " +
				"allocatedResourcesStatus: [{name: example.com/gpu}]}]",
			"status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be " +
				"specified in container status"},
	})
}

// TestAllocatedClaims checks that the devices of a claim belong to the container.
func TestAllocatedClaims(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.resourceClaims: [{name: a, resourceClaimName: b}, {name: d, resourceClaimName: e}]; " +
			"spec.containers[0].resources.claims: [{name: a}, {name: d, request: r}]")
	k.UpdateStatus(kindtest.Rules{
		{"claim",
			"status.containerStatuses: [{name: c, image: i, imageID: j, allocatedResourcesStatus: " +
				`[{name: "claim:a"}]}]`,
			"status.containerStatuses: [{name: c, image: i, imageID: j, allocatedResourcesStatus: " +
				`[{name: "claim:b"}]}]`,
			`status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "claim:b": ` +
				"must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when " +
				"container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"},
		{"request of a claim",
			"status.containerStatuses: [{name: c, image: i, imageID: j, allocatedResourcesStatus: " +
				`[{name: "claim:d/r"}]}]`,
			"status.containerStatuses: [{name: c, image: i, imageID: j, allocatedResourcesStatus: " +
				`[{name: "claim:d"}]}]`,
			`status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "claim:d": ` +
				"must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when " +
				"container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"},
	})
}

// TestExtendedResourceClaim checks the claim by which a pod gets its extended resources.
func TestExtendedResourceClaim(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}")
	k.UpdateStatus(kindtest.Rules{
		{"claim",
			"status.extendedResourceClaimStatus: {resourceClaimName: a, requestMappings: " +
				"[{containerName: c, resourceName: example.com/gpu, requestName: r}]}",
			"status.extendedResourceClaimStatus: {resourceClaimName: A, requestMappings: " +
				"[{containerName: c, resourceName: example.com/gpu, requestName: r}]}",
			`status.extendedResourceClaimStatus.resourceClaimName: Invalid value: "A": a lowercase RFC ` +
				"1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation " +
				`is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"no claim", "status.phase: Running",
			`status.extendedResourceClaimStatus: {resourceClaimName: "", requestMappings: ` +
				"[{containerName: c, resourceName: example.com/gpu, requestName: r}]}",
			"status.extendedResourceClaimStatus.resourceClaimName: Required value"},
		{"mappings", "status.phase: Running",
			"status.extendedResourceClaimStatus: {resourceClaimName: a, requestMappings: []}",
			"status.extendedResourceClaimStatus.requestMappings: Required value: at least one request " +
				"mapping is required"},
		{"container", "status.phase: Running",
			"status.extendedResourceClaimStatus: {resourceClaimName: a, requestMappings: " +
				"[{containerName: d, resourceName: example.com/gpu, requestName: r}]}",
			`status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "d": ` +
				"must match the name of an entry in spec.initContainers.name or spec.containers.name"},
		{"resource", "status.phase: Running",
			"status.extendedResourceClaimStatus: {resourceClaimName: a, requestMappings: " +
				"[{containerName: c, resourceName: example.com/nic, requestName: r}]}",
			"status.extendedResourceClaimStatus.requestMappings[0].resourceName: Invalid value: " +
				`"example.com/nic": must match the extended resource name of an entry in ` +
				"spec.initContainers.resources.requests or spec.containers.resources.requests"},
		{"request", "status.phase: Running",
			"status.extendedResourceClaimStatus: {resourceClaimName: a, requestMappings: " +
				"[{containerName: c, resourceName: example.com/gpu, requestName: R}]}",
			`status.extendedResourceClaimStatus.requestName: Invalid value: "R": a lowercase RFC 1123 ` +
				"label must consist of lower case alphanumeric characters or '-', and must start and end " +
				"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"mapping twice", "status.phase: Running",
			"status.extendedResourceClaimStatus: {resourceClaimName: a, requestMappings: " +
				"[{containerName: c, resourceName: example.com/gpu, requestName: r}, {containerName: c, " +
				"resourceName: example.com/gpu, requestName: r}]}",
			`status.extendedResourceClaimStatus.requestMappings[1].containerName: Duplicate value: "c"; ` +
				"status.extendedResourceClaimStatus.requestMappings[1].resourceName: Duplicate value: " +
				`"example.com/gpu"; status.extendedResourceClaimStatus.requestMappings[1].requestName: ` +
				`Duplicate value: "r"`},
		{"health by the claim",
			"status.extendedResourceClaimStatus: {resourceClaimName: a, requestMappings: " +
				"[{containerName: c, resourceName: example.com/gpu, requestName: r}]}; " +
				"status.containerStatuses: [{name: c, image: i, imageID: j, allocatedResourcesStatus: " +
				`[{name: "claim:a/r"}]}]`,
			"status.extendedResourceClaimStatus: {resourceClaimName: a, requestMappings: " +
				"[{containerName: c, resourceName: example.com/gpu, requestName: r}]}; " +
				"status.containerStatuses: [{name: c, image: i, imageID: j, allocatedResourcesStatus: " +
				`[{name: "claim:a/s"}]}]`,
			`status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "claim:a/s": ` +
				"must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when " +
				"container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"},
	})
}

// TestAllocatableClaims checks the resources of a node that claims of a pod use.
func TestAllocatableClaims(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "DRANodeAllocatableResources").With(
		"spec.resourceClaims: [{name: a, resourceClaimName: b}]")
	k.UpdateStatus(kindtest.Rules{
		{"claim",
			"status.nodeAllocatableResourceClaimStatuses: [{resourceClaimName: b, containers: [c], " +
				"mapping: [{name: cpu, quantity: 1}]}]",
			"status.nodeAllocatableResourceClaimStatuses: [{resourceClaimName: z, containers: [c], " +
				"mapping: [{name: cpu, quantity: 1}]}]",
			`status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName: Invalid value: "z": no ` +
				"mapping found in pod reference"},
		{"resource", "status.phase: Running",
			"status.nodeAllocatableResourceClaimStatuses: [{resourceClaimName: b, containers: [c], " +
				"mapping: [{name: example.com/gpu, quantity: 1}]}]",
			"status.nodeAllocatableResourceClaimStatuses[0].mapping[0].name: Invalid value: " +
				`"example.com/gpu": must be a node allocatable resource name`},
		{"negative quantity", "status.phase: Running",
			"status.nodeAllocatableResourceClaimStatuses: [{resourceClaimName: b, containers: [c], " +
				`mapping: [{name: cpu, quantity: "-1"}]}]`,
			`status.nodeAllocatableResourceClaimStatuses[0].mapping[0].quantity: Invalid value: "-1": ` +
				"must be non-negative"},
		{"overhead",
			"status.nodeAllocatableResourceClaimStatuses: [{resourceClaimName: b, containers: [c], " +
				"mapping: [{name: cpu, quantity: 1}], overhead: [{name: cpu, perPod: 1}]}]",
			"status.nodeAllocatableResourceClaimStatuses: [{resourceClaimName: b, containers: [c], " +
				"mapping: [{name: cpu, quantity: 1}], overhead: [{name: cpu}]}]",
			`status.nodeAllocatableResourceClaimStatuses[0].overhead[0]: Invalid value: "": at least one ` +
				"of perPod or perContainer must be set"},
		{"negative overhead", "status.phase: Running",
			"status.nodeAllocatableResourceClaimStatuses: [{resourceClaimName: b, containers: [c], " +
				`mapping: [{name: cpu, quantity: 1}], overhead: [{name: cpu, perPod: "-1", perContainer: "-2"}]}]`,
			`status.nodeAllocatableResourceClaimStatuses[0].overhead[0].perPod: Invalid value: "-1": ` +
				"must be non-negative; " +
				"status.nodeAllocatableResourceClaimStatuses[0].overhead[0].perContainer: Invalid value: " +
				`"-2": must be non-negative`},
	})
}

// TestVolumeHealth checks the reported health of volumes.
func TestVolumeHealth(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "CSIVolumeHealth").With(
		"spec.volumes: [{name: v, emptyDir: {}}]")
	k.UpdateStatus(kindtest.Rules{
		{"volume", "status.volumeHealth: [{name: v, healthConditions: [{status: Degraded, reason: Slow}]}]",
			"status.volumeHealth: [{name: w, healthConditions: [{status: Degraded, reason: Slow}]}]",
			`status.volumeHealth[0].name: Not found: "w"`},
		{"reason", "status.volumeHealth: [{name: v}]",
			`status.volumeHealth: [{name: v, healthConditions: [{status: Degraded, reason: "not so"}]}]`,
			`status.volumeHealth[0].healthConditions[0].reason: Invalid value: "not so": a condition ` +
				"reason must start with alphabetic character, optionally followed by a string of " +
				"alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. " +
				"'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex " +
				"used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"},
	})
}

// TestEndedContainersOfAlways checks that the policy of the pod restarts containers, but not ephemeral ones.
func TestEndedContainersOfAlways(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.restartPolicy: Always; status.containerStatuses: [{name: c, image: i, imageID: j, state: " +
			"{terminated: {exitCode: 0}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"container", "status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[0].state: {running: {}}; status.observedGeneration: -1",
			"status.observedGeneration: Invalid value: -1: must be a non-negative integer"},
	})
}

// TestEndedEphemeralContainer checks that an ephemeral container never starts again.
func TestEndedEphemeralContainer(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"status.ephemeralContainerStatuses: [{name: e, image: i, imageID: j, state: {terminated: {exitCode: 1}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"state", "status.ephemeralContainerStatuses[0].state: {terminated: {exitCode: 2}}",
			"status.ephemeralContainerStatuses[0].state: {running: {}}",
			"status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestEndedUnknownContainer checks a status of no container of the pod.
func TestEndedUnknownContainer(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"status.containerStatuses: [{name: other, image: i, imageID: j, state: {terminated: {exitCode: 1}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"state", "status.containerStatuses: []", "status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestEndedContainerOfOnFailure checks that only containers that failed start again.
func TestEndedContainerOfOnFailure(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.restartPolicy: OnFailure; spec.containers[1]: {name: d, image: i}; " +
			"status.containerStatuses: [{name: c, image: i, imageID: j, state: {terminated: {exitCode: 1}}}, " +
			"{name: d, image: i, imageID: j, state: {terminated: {exitCode: 0}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"exit code", "status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[1].state: {running: {}}",
			"status.containerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestEndedSidecar checks that sidecars start again, whatever the policy of the pod.
func TestEndedSidecar(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.restartPolicy: Never; spec.initContainers: [{name: s, image: i, restartPolicy: Always}, " +
			"{name: d, image: i}]; status.initContainerStatuses: [{name: s, image: i, imageID: j, state: " +
			"{terminated: {exitCode: 0}}}, {name: d, image: i, imageID: j, state: {terminated: {exitCode: 0}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"init container", "status.initContainerStatuses[0].state: {running: {}}",
			"status.initContainerStatuses[1].state: {running: {}}",
			"status.initContainerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestEndedContainerOfOwnPolicy checks that the policy of a container precedes that of the pod.
func TestEndedContainerOfOwnPolicy(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers: [{name: c, image: i, restartPolicy: Never}, {name: d, image: i, restartPolicy: " +
			"OnFailure}]; status.containerStatuses: [{name: c, image: i, imageID: j, state: {terminated: " +
			"{exitCode: 1}}}, {name: d, image: i, imageID: j, state: {terminated: {exitCode: 1}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"own policy", "status.containerStatuses[1].state: {running: {}}",
			"status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestEndedContainerOfRules checks that the rule for an exit code precedes the policies.
func TestEndedContainerOfRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.restartPolicy: Never; spec.containers: [{name: c, image: i, restartPolicy: Never, " +
			"restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [3]}}]}, {name: d, " +
			"image: i, restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: " +
			"NotIn, values: [3]}}]}]; status.containerStatuses: [{name: c, image: i, imageID: j, state: " +
			"{terminated: {exitCode: 3}}}, {name: d, image: i, imageID: j, state: {terminated: {exitCode: 3}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"rule for the exit code", "status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[1].state: {running: {}}",
			"status.containerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestEndedContainerOfOtherCode checks rules with an exit code that one of them does not have.
func TestEndedContainerOfOtherCode(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.restartPolicy: Never; spec.containers: [{name: c, image: i, restartPolicy: Never, " +
			"restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [3]}}]}, {name: d, " +
			"image: i, restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: " +
			"NotIn, values: [3]}}]}]; status.containerStatuses: [{name: c, image: i, imageID: j, state: " +
			"{terminated: {exitCode: 4}}}, {name: d, image: i, imageID: j, state: {terminated: {exitCode: 4}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"rule for other codes", "status.containerStatuses[1].state: {running: {}}",
			"status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestEndedContainerOfAllRule checks that a rule that restarts all containers lets each start again.
func TestEndedContainerOfAllRule(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.restartPolicy: Never; spec.containers: [{name: c, image: i}, {name: d, image: i, " +
			"restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: " +
			"In, values: [3]}}]}]; status.containerStatuses: [{name: c, image: i, imageID: j, state: " +
			"{terminated: {exitCode: 4}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"rule of another container", "status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[0].state: {running: {}}; status.observedGeneration: -1",
			"status.observedGeneration: Invalid value: -1: must be a non-negative integer"},
	})
}

// TestEndedSidecarWithoutRules checks sidecars without the gates of rules.
func TestEndedSidecarWithoutRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-ContainerRestartRules", "-RestartAllContainersOnContainerExits").With(
		"spec.restartPolicy: Never; spec.initContainers: [{name: s, image: i, restartPolicy: Always}, " +
			"{name: d, image: i}]; status.initContainerStatuses: [{name: s, image: i, imageID: j, state: " +
			"{terminated: {exitCode: 0}}}, {name: d, image: i, imageID: j, state: {terminated: {exitCode: 0}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"init container", "status.initContainerStatuses[0].state: {running: {}}",
			"status.initContainerStatuses[1].state: {running: {}}",
			"status.initContainerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestEndedContainerOfOnFailureWithoutRules checks the policy of the pod without the gates of rules.
func TestEndedContainerOfOnFailureWithoutRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-ContainerRestartRules", "-RestartAllContainersOnContainerExits").With(
		"spec.restartPolicy: OnFailure; spec.containers[1]: {name: d, image: i}; " +
			"status.containerStatuses: [{name: c, image: i, imageID: j, state: {terminated: {exitCode: 1}}}, " +
			"{name: d, image: i, imageID: j, state: {terminated: {exitCode: 0}}}]")
	k.UpdateStatus(kindtest.Rules{
		{"exit code", "status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[1].state: {running: {}}",
			"status.containerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}
