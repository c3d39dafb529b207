package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
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
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse(s.cpu),
		corev1.ResourceMemory:           resource.MustParse(s.memory),
		corev1.ResourceEphemeralStorage: resource.MustParse(s.storage),
		corev1.ResourcePods:             resource.MustParse(s.pods),
	}
	if s.gpus != "" && i%gpuEvery == gpuEvery-1 {
		resources[gpuResource] = resource.MustParse(s.gpus)
		node.Spec.Taints = []corev1.Taint{{Key: gpuResource, Value: "present", Effect: corev1.TaintEffectNoSchedule}}
		node.Labels["node.kubernetes.io/accelerator"] = "gpu"
	}
	node.Status = corev1.NodeStatus{
		Capacity:        resources,
		Allocatable:     resources,
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeIP(i)}, {Type: corev1.NodeHostName, Address: name}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
		NodeInfo: corev1.NodeSystemInfo{
			Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: version,
			ContainerRuntimeVersion: "kwok://sandbox", KernelVersion: "none", OSImage: "kwok: no machine",
		},
	}
	return node
}

// nodeIP returns the address of node number i, of a range that is set aside for tests of networks
// (RFC 2544): no connection to it leaves the process.
func nodeIP(i int) string {
	i++
	return fmt.Sprintf("198.18.%d.%d", i/256%256, i%256)
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

// readNodes reads a file of manifests.
func readNodes(file string) ([]*corev1.Node, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--nodes-file: %w", err)
	}
	defer f.Close()
	var nodes []*corev1.Node
	decoder := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		node := &corev1.Node{}
		switch err := decoder.Decode(node); {
		case errors.Is(err, io.EOF):
			return nodes, nil
		case err != nil:
			return nil, fmt.Errorf("--nodes-file %s: document %d: %w", file, len(nodes)+1, err)
		case node.Name == "" || node.Kind != "" && node.Kind != "Node":
			return nil, fmt.Errorf("--nodes-file %s: document %d is no Node with a name", file, len(nodes)+1)
		}
		nodes = append(nodes, node)
	}
}
