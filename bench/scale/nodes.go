package main

import (
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeConditions are the conditions that a kubelet reports.
var nodeConditions = []struct{ name, status, reason string }{
	{"MemoryPressure", "False", "KubeletHasSufficientMemory"}, {"DiskPressure", "False", "KubeletHasNoDiskPressure"},
	{"PIDPressure", "False", "KubeletHasSufficientPID"}, {"Ready", "True", "KubeletReady"},
}

// nodeBody returns a node with the status with which a kubelet registers it.
func nodeBody(i int) []byte {
	name, id := nodeName(i), fmt.Sprintf("%032x", i)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			"node.kubernetes.io/instance-type": "large", "topology.kubernetes.io/zone": zoneOf(i)}},
		Spec:   corev1.NodeSpec{PodCIDR: fmt.Sprintf("10.%d.%d.0/24", 128+i>>8&63, i&255), ProviderID: "example://" + name},
		Status: corev1.NodeStatus{Capacity: quantities("32", "128Gi")},
	}
	node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
	s := &node.Status
	s.Capacity[corev1.ResourcePods] = resource.MustParse("110")
	s.Capacity[corev1.ResourceEphemeralStorage] = resource.MustParse("200Gi")
	s.Allocatable = s.Capacity
	s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress(i)},
		{Type: corev1.NodeHostName, Address: name}}
	s.NodeInfo = corev1.NodeSystemInfo{MachineID: id, SystemUUID: id, BootID: "0", KernelVersion: "6.12.0",
		OSImage: "Linux", OperatingSystem: "linux", Architecture: "amd64",
		ContainerRuntimeVersion: "containerd://2.1.0", KubeletVersion: "v1.37.2"}
	now := metav1.Now()
	for _, c := range nodeConditions {
		s.Conditions = append(s.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(c.name),
			Status: corev1.ConditionStatus(c.status), Reason: c.reason, Message: "reported by kubelet",
			LastHeartbeatTime: now, LastTransitionTime: now})
	}
	for n := range 20 {
		image := fmt.Sprintf("registry.example.com/shop/image-%d", n)
		s.Images = append(s.Images, corev1.ContainerImage{SizeBytes: int64(1+n) << 24,
			Names: []string{fmt.Sprintf("%s@sha256:%064x", image, n), image + ":v1.42.0"}})
	}
	return encode("v1", "Node", node)
}

func zoneOf(node int) string { return fmt.Sprintf("zone-%d", node%3) }

// heartbeatPatch returns the n-th report of a node's status. Its boot ID makes each a change, even if there
// are several in a second.
func heartbeatPatch(n int) []byte {
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []object
	for _, c := range nodeConditions {
		conditions = append(conditions, object{"type": c.name, "lastHeartbeatTime": now})
	}
	status := conditionsPatch(conditions)
	status["nodeInfo"] = object{"bootID": strconv.Itoa(n + 1)}
	return encodeJSON(object{"status": status})
}

// newLease returns a node's Lease.
func newLease(node, uid string) *coordinationv1.Lease {
	seconds := int32(4 * heartbeat / time.Second)
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node, UID: types.UID(uid)}
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: "kube-node-lease",
			OwnerReferences: []metav1.OwnerReference{owner}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &node, LeaseDurationSeconds: &seconds,
			RenewTime: &metav1.MicroTime{Time: time.Now()}}}
}

func leaseBody(l *coordinationv1.Lease) []byte { return encode("coordination.k8s.io/v1", "Lease", l) }
