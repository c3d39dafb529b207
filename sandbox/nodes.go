package sandbox

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// A nodeSize is what the nodes of a preset have.
type nodeSize struct {
	cpu, memory, storage string
	pods                 string
	zones                int
	gpus                 string // nvidia.com/gpu of every fourth node, which has a taint
}

// nodePresets returns the sizes by name.
func nodePresets() map[string]nodeSize {
	return map[string]nodeSize{
		"small":  {cpu: "4", memory: "16Gi", storage: "100Gi", pods: "110", zones: 3},
		"large":  {cpu: "64", memory: "256Gi", storage: "1Ti", pods: "250", zones: 3},
		"mixed":  {cpu: "16", memory: "64Gi", storage: "500Gi", pods: "110", zones: 3, gpus: "8"},
		"tiny":   {cpu: "1", memory: "2Gi", storage: "10Gi", pods: "20", zones: 1},
		"single": {cpu: "16", memory: "64Gi", storage: "500Gi", pods: "500", zones: 1},
	}
}

const defaultNodePreset = "small"

// NodePresets returns the names of the sizes of nodes.
func NodePresets() []string { return slices.Sorted(maps.Keys(nodePresets())) }

func nodePreset(name string) (nodeSize, error) {
	if name == "" {
		name = defaultNodePreset
	}
	size, ok := nodePresets()[name]
	if !ok {
		return nodeSize{}, fmt.Errorf("--node-preset %s: the presets are %s", name, strings.Join(NodePresets(), ", "))
	}
	return size, nil
}

const (
	gpuResource = "nvidia.com/gpu"
	gpuEvery    = 4
	region      = "sandbox"
)

// resources returns the capacity of a node, without GPUs.
func (s nodeSize) resources() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse(s.cpu),
		corev1.ResourceMemory:           resource.MustParse(s.memory),
		corev1.ResourceEphemeralStorage: resource.MustParse(s.storage),
		corev1.ResourcePods:             resource.MustParse(s.pods),
	}
}

// newNode returns node number i, from 0 on.
func (s nodeSize) newNode(i int, version string) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	zone := fmt.Sprintf("%s-%c", region, 'a'+i%s.zones)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:           name,
			corev1.LabelArchStable:         "amd64",
			corev1.LabelOSStable:           "linux",
			corev1.LabelTopologyZone:       zone,
			corev1.LabelTopologyRegion:     region,
			corev1.LabelInstanceTypeStable: "kwok",
		}},
	}
	node.Spec.PodCIDR = fmt.Sprintf("10.%d.%d.0/24", 128+i/256%128, i%256) // of podCIDR
	node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
	resources := s.resources()
	if s.gpus != "" && i%gpuEvery == gpuEvery-1 {
		resources[gpuResource] = resource.MustParse(s.gpus)
		node.Spec.Taints = []corev1.Taint{{Key: gpuResource, Value: "present", Effect: corev1.TaintEffectNoSchedule}}
		node.Labels["node.kubernetes.io/accelerator"] = "gpu"
	}
	node.Status = corev1.NodeStatus{
		Capacity:        resources,
		Allocatable:     resources,
		Addresses:       nodeAddresses(name, i),
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
		NodeInfo: corev1.NodeSystemInfo{
			Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: version,
			ContainerRuntimeVersion: "kwok://sandbox", KernelVersion: "none", OSImage: "kwok: no machine",
		},
	}
	return node
}

// fileNodes is the number of the first node of a file, beyond those of Options.Nodes.
const fileNodes = 1 << 16

// complete sets what the manifest of a node leaves out and a pod needs in order to run there. The
// controller manager adds a range of addresses.
func (s nodeSize) complete(node *corev1.Node, i int, version string) {
	standard := s.newNode(i, version)
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	standard.Labels[corev1.LabelHostname] = node.Name
	for _, key := range []string{corev1.LabelHostname, corev1.LabelArchStable, corev1.LabelOSStable} {
		if _, ok := node.Labels[key]; !ok {
			node.Labels[key] = standard.Labels[key]
		}
	}
	status := &node.Status
	status.Capacity = mergeResources(s.resources(), status.Capacity)
	status.Allocatable = mergeResources(status.Capacity, status.Allocatable)
	if len(status.Addresses) == 0 {
		status.Addresses = nodeAddresses(node.Name, i)
	}
	if status.DaemonEndpoints.KubeletEndpoint.Port == 0 {
		status.DaemonEndpoints = standard.Status.DaemonEndpoints
	}
	if status.NodeInfo == (corev1.NodeSystemInfo{}) {
		status.NodeInfo = standard.Status.NodeInfo
	}
}

// mergeResources returns the resources of a list and those of defaults that it has none of.
func mergeResources(defaults, list corev1.ResourceList) corev1.ResourceList {
	merged := maps.Clone(defaults)
	maps.Copy(merged, list)
	return merged
}

func nodeAddresses(name string, i int) []corev1.NodeAddress {
	return []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeIP(i)}, {Type: corev1.NodeHostName, Address: name}}
}

// nodeIP returns the address of node number i, of a range that is set aside for tests of networks
// (RFC 2544): no connection to it leaves the process.
func nodeIP(i int) string {
	i++
	return fmt.Sprintf("198.%d.%d.%d", 18+i>>16%2, i/256%256, i%256)
}

// createNodes creates the nodes of the options that do not exist yet.
func createNodes(ctx context.Context, client kubernetes.Interface, o Options) error {
	size, err := nodePreset(o.NodePreset)
	if err != nil {
		return err
	}
	nodes, err := readNodes(o.NodesFile)
	if err != nil {
		return err
	}
	version, _, _ := strings.Cut(o.Server.Version().GitVersion, "+")
	for i, node := range nodes {
		size.complete(node, fileNodes+i, version)
	}
	for i := range o.Nodes {
		nodes = append(nodes, size.newNode(i, version))
	}
	for _, node := range nodes {
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating node %s: %w", node.Name, err)
		}
	}
	return nil
}

// readNodes reads a file of manifests. An empty name has none.
func readNodes(file string) ([]*corev1.Node, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--nodes-file: %w", err)
	}
	objects, err := readManifests(data)
	if err != nil {
		return nil, fmt.Errorf("--nodes-file %s: %w", file, err)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("--nodes-file %s: no manifest of a Node", file)
	}
	var nodes []*corev1.Node
	for _, object := range objects {
		if object.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Node") {
			return nil, fmt.Errorf("--nodes-file %s: %s %s %s: want v1 Node", file, object.GetAPIVersion(), object.GetKind(), object.GetName())
		}
		node := &corev1.Node{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, node, true); err != nil {
			return nil, fmt.Errorf("--nodes-file %s: node %s: %w", file, object.GetName(), err)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}
