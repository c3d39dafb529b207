package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// TestResize checks that a resize changes nothing but the CPU and memory of containers.
func TestResize(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].resources.requests: {cpu: 1}; spec.initContainers: [{name: init, image: " +
			"'i:1', resources: {requests: {cpu: 1}}}]")
	k.UpdatePart("resize", kindtest.Rules{
		{"more CPU", "spec.containers[0].resources.requests.cpu: 2", "spec.containers[0].resources.requests: {}",
			"spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"},
		{"memory is added", "spec.containers[0].resources.requests.memory: 1Gi",
			"spec.containers[0].resources.requests: {memory: 1Gi}",
			"spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"},
		{"init container", "spec.initContainers[0].resources.requests.cpu: 2",
			"spec.initContainers[0].resources.requests: {}",
			"spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed"},
		{"renamed container", "spec.containers[0].resources.requests.cpu: 500m", "spec.containers[0].name: d",
			"spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"},
		{"added container", "spec.containers[0].resources.requests.cpu: 500m",
			"spec.containers[1]: {name: d, image: i}",
			"spec.containers: Forbidden: containers may not be added or removed on resize"},
		{"removed init container", "spec.containers[0].resources.requests.cpu: 500m", "spec.initContainers: null",
			"spec.initContainers: Forbidden: initContainers may not be added or removed on resize"},
		{"renamed init container", "spec.containers[0].resources.requests.cpu: 500m",
			"spec.initContainers[0].name: e",
			"spec.initContainers[0].name: Forbidden: initContainers may not be renamed or reordered on resize"},
		{"other resource", "spec.containers[0].resources.requests.cpu: 500m",
			"spec.containers[0].resources.requests.ephemeral-storage: 1Gi",
			"spec: Forbidden: only cpu and memory resources are mutable"},
		{"other resource of an init container", "spec.initContainers[0].resources.requests.memory: 1Gi",
			"spec.initContainers[0].resources.requests.ephemeral-storage: 1Gi",
			"spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar " +
				"containers are mutable"},
		{"class of service", "spec.containers[0].resources: {requests: {cpu: 2}, limits: {cpu: 2}}",
			"spec.containers[0].resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: " +
				"1Gi}}; spec.initContainers[0].resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, " +
				"memory: 1Gi}}",
			`spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing`},
		{"request above the limit", "spec.containers[0].resources: {requests: {cpu: 1}, limits: {cpu: 2}}",
			"spec.containers[0].resources: {requests: {cpu: 3}, limits: {cpu: 2}}",
			`spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to ` +
				"cpu limit of 2"},
		{"negative request", "spec.containers[0].resources.requests.cpu: 0",
			`spec.containers[0].resources.requests.cpu: "-1"`,
			`spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`},
	})
}

// TestResizeKeepsRest checks that a resize ignores other changes.
func TestResizeKeepsRest(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"metadata.labels: {a: b}; spec.containers[0].resources.requests: {cpu: 1}")
	k.PartUpdated("resize", kindtest.Cases{
		{"labels", "metadata.labels: {a: c}; spec.containers[0].resources.requests.cpu: 2",
			`metadata.labels: {"a":"b"}; spec.containers[0].resources.requests: {"cpu":"2"}`},
		{"image", "spec.containers[0].image: j; spec.containers[0].resources.requests.cpu: 2",
			`spec.containers[0].image: i:1; spec.containers[0].resources.requests: {"cpu":"2"}`},
		{"generation", "spec.containers[0].resources.requests.cpu: 2", "metadata.generation: 2"},
	})
}

// TestResizePodLevel checks the resources of the pod as a whole.
func TestResizePodLevel(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.resources: {requests: {cpu: 3}, limits: {cpu: 4}}; spec.containers[0].resources.requests: {cpu: 1}")
	k.UpdatePart("resize", kindtest.Rules{
		{"more CPU", "spec.resources.requests.cpu: 4", "spec.resources.requests.cpu: 5",
			`spec.resources.requests: Invalid value: "5": must be less than or equal to cpu limit of 4`},
		{"limit", "spec.resources.limits.cpu: 5", "spec.resources.limits: {}",
			"spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"},
		{"other resource", "spec.resources.requests.memory: 1Gi", "spec.resources.requests[hugepages-2Mi]: 2Mi",
			"spec.resources.limits: Required value: Limit must be set for non overcommitable resources; " +
				"spec: Forbidden: only cpu and memory resources are mutable at pod-level"},
		{"less than the containers request", "spec.resources.requests.cpu: 2", "spec.resources.requests.cpu: 500m",
			`spec.resources.requests[cpu]: Invalid value: "500m": must be greater than or equal to ` +
				"aggregate container requests of 1"},
	})
}

// TestResizeAddsPodLevel checks that a resize may add resources of the pod as a whole.
func TestResizeAddsPodLevel(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].resources.requests: {cpu: 1}")
	k.UpdatePart("resize", kindtest.Rules{
		{"request", "spec.resources.requests: {cpu: 3}", "spec.resources.requests: {cpu: 500m}",
			`spec.resources.requests[cpu]: Invalid value: "500m": must be greater than or equal to ` +
				"aggregate container requests of 1"},
	})
}

// TestResizeRestartingInitContainer checks that an init container that would restart cannot be resized, and that
// a sidecar can.
func TestResizeRestartingInitContainer(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.initContainers: [{name: init, image: 'i:1', resources: {requests: {cpu: 1}}, resizePolicy: " +
			"[{resourceName: cpu, restartPolicy: RestartContainer}]}, {name: sidecar, image: 'i:1', " +
			"restartPolicy: Always, resources: {requests: {cpu: 1}}, resizePolicy: [{resourceName: cpu, " +
			"restartPolicy: RestartContainer}]}]")
	k.UpdatePart("resize", kindtest.Rules{
		{"policy", "spec.initContainers[1].resources.requests.cpu: 2",
			"spec.initContainers[0].resources.requests.cpu: 2",
			"spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of " +
				"RestartContainer cannot be resized"},
	})
}

// TestResizeOnOldNode checks that the kubelet must report the resources of running containers.
func TestResizeOnOldNode(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].resources.requests: {cpu: 1}; status.containerStatuses: [{name: c, image: i, " +
			"imageID: j, state: {running: {}}}]")
	k.UpdatePart("resize", kindtest.Rules{
		{"resources that are not reported", "-", "spec.containers[0].resources.requests.cpu: 2",
			"spec: Forbidden: Pod running on node without support for resize"},
	})
}

// TestResizeOfMirrorPod checks that static pods cannot be resized.
func TestResizeOfMirrorPod(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"metadata.annotations[kubernetes.io/config.mirror]: a; spec.nodeName: node")
	k.UpdatePart("resize", kindtest.Rules{
		{"static pod", "-", "spec.containers[0].resources.requests.cpu: 2",
			"[]: Forbidden: static pods cannot be resized"},
	})
}

// TestResizeOfWindows checks that pods of Windows cannot be resized.
func TestResizeOfWindows(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.os.name: windows").UpdatePart("resize", kindtest.Rules{
		{"pod of Windows", "-", "spec.containers[0].resources.requests.cpu: 2",
			"[]: Forbidden: windows pods cannot be resized"},
	})
}

// TestResizeWithoutInitContainers checks that without the gate, only sidecars among the init containers can be
// resized.
func TestResizeWithoutInitContainers(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "1.36", "-InPlacePodVerticalScalingInitContainers").With(
		"spec.containers[0].resources.requests: {cpu: 1}; spec.initContainers: [{name: init, image: " +
			"'i:1', resources: {requests: {cpu: 1}}}, {name: sidecar, image: 'i:1', restartPolicy: Always, " +
			"resources: {requests: {cpu: 1}}}]")
	k.UpdatePart("resize", kindtest.Rules{
		{"init container", "spec.initContainers[1].resources.requests.cpu: 2",
			"spec.initContainers[0].resources.requests.cpu: 2",
			"spec: Forbidden: resources for non-sidecar init containers are immutable"},
	})
}

// TestResizeWithoutPodLevel checks that without the gate, a pod with resources of its own cannot be resized.
func TestResizeWithoutPodLevel(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "-InPlacePodLevelResourcesVerticalScaling").With(
		"spec.resources.requests: {cpu: 3}; spec.containers[0].resources.requests: {cpu: 1}")
	k.UpdatePart("resize", kindtest.Rules{
		{"container", "-", "spec.containers[0].resources.requests.cpu: 2",
			"[]: Forbidden: resize of pods with pod-level resources is forbidden when " +
				"InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"},
	})
}

// TestResizeVolumes checks that a resize may change the limit of volumes in memory.
func TestResizeVolumes(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "InPlacePodVerticalScalingMemoryBackedVolumes").With(
		"spec.volumes: [{name: m, emptyDir: {medium: Memory, sizeLimit: 1Mi}}, {name: d, emptyDir: " +
			"{sizeLimit: 1Mi}}, {name: u, emptyDir: {}}]")
	k.UpdatePart("resize", kindtest.Rules{
		{"limit of a volume on disk", "spec.volumes[0].emptyDir.sizeLimit: 2Mi",
			"spec.volumes[1].emptyDir.sizeLimit: 2Mi",
			"spec.volumes[1].emptyDir.sizeLimit: Forbidden: sizeLimit is only mutable for memory-backed " +
				"emptyDir volumes"},
		{"added limit", "spec.volumes[0].emptyDir.sizeLimit: 2Mi", "spec.volumes[2].emptyDir.sizeLimit: 2Mi",
			"spec.volumes[2].emptyDir.sizeLimit: Forbidden: adding or removing sizeLimit on an existing " +
				"volume is not allowed"},
		{"removed limit", "spec.volumes[0].emptyDir.sizeLimit: 2Mi", "spec.volumes[0].emptyDir.sizeLimit: null",
			"spec.volumes[0].emptyDir.sizeLimit: Forbidden: adding or removing sizeLimit on an existing " +
				"volume is not allowed"},
		{"renamed volume", "spec.volumes[0].emptyDir.sizeLimit: 2Mi", "spec.volumes[2].name: v",
			"spec.volumes[2].name: Forbidden: volumes may not be renamed or reordered on resize"},
		{"other source", "spec.volumes[0].emptyDir.sizeLimit: 2Mi", "spec.volumes[2]: {name: u, hostPath: {path: /}}",
			"spec.volumes[2]: Forbidden: only sizeLimit of memory-backed emptyDir volumes is mutable on resize"},
		{"removed volume", "spec.volumes[0].emptyDir.sizeLimit: 2Mi", "spec.volumes[2]: null",
			"spec.volumes: Forbidden: volumes may not be added or removed on resize"},
	})
}
