package api

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func nodeColumns() []metav1.TableColumnDefinition {
	info, addresses := corev1.NodeSystemInfo{}, doc(corev1.NodeStatus{}, "addresses")
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Status", "The status of the node"),
		textColumn("Roles", "The roles of the node"),
		ageColumn(),
		textColumn("Version", doc(info, "kubeletVersion")),
		wide(textColumn("Internal-IP", addresses)),
		wide(textColumn("External-IP", addresses)),
		wide(textColumn("OS-Image", doc(info, "osImage"))),
		wide(textColumn("Kernel-Version", doc(info, "kernelVersion"))),
		wide(textColumn("Container-Runtime", doc(info, "containerRuntimeVersion"))),
	}
}

func nodeCells(obj Object) []any {
	n := obj.(*corev1.Node)
	info := &n.Status.NodeInfo
	kernel := orElse(info.KernelVersion, cellUnknown)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		n.Name, nodeState(n), orElse(strings.Join(nodeRoles(n.Labels), ","), cellNone), Age(n), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		orElse(info.OSImage, cellUnknown), kernel, orElse(info.ContainerRuntimeVersion, cellUnknown),
	}
}

// nodeState tells whether a node is ready, and whether it is closed to new pods.
func nodeState(n *corev1.Node) string {
	state := "Unknown"
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			state = "Ready"
		default:
			state = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		state += ",SchedulingDisabled"
	}
	return state
}

// nodeRoles are what the labels of a node say that it is for, in either form.
func nodeRoles(labels map[string]string) []string {
	var roles []string
	for label, value := range labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if label == "kubernetes.io/role" && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

func nodeAddress(n *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return cellNone
}
