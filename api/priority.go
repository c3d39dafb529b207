package api

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Priority is the order of a group version in discovery: of the group among groups, by the
// highest of its versions, and of the version in its group. Higher numbers come first. The
// numbers of built-in versions are kube-apiserver's.
type Priority struct{ Group, Version int32 }

// PriorityOf returns the priority of a group version that is not aggregated.
func PriorityOf(gv schema.GroupVersion) Priority {
	group := groupPriority(gv.Group)
	if group == 0 {
		return Priority{Group: 1000, Version: 100}
	}
	return Priority{group, versionPriority(gv)}
}

// KubernetesGroup reports whether a group is built in.
func KubernetesGroup(name string) bool { return groupPriority(name) != 0 }

// RegistrationGroup is the group of APIServices. It is the first named group in discovery,
// and has no APIService itself.
const RegistrationGroup = "apiregistration.k8s.io"

func groupPriority(name string) int32 {
	switch name {
	case RegistrationGroup:
		return 20001
	case "":
		return 18000
	case "apps":
		return 17800
	case "events.k8s.io":
		return 17750
	case "authentication.k8s.io":
		return 17700
	case "authorization.k8s.io":
		return 17600
	case "autoscaling":
		return 17500
	case "batch":
		return 17400
	case "certificates.k8s.io":
		return 17300
	case "networking.k8s.io":
		return 17200
	case "policy":
		return 17100
	case "rbac.authorization.k8s.io":
		return 17000
	case "storage.k8s.io":
		return 16800
	case "admissionregistration.k8s.io", "apiextensions.k8s.io":
		return 16700
	case "scheduling.k8s.io":
		return 16600
	case "coordination.k8s.io":
		return 16500
	case "node.k8s.io":
		return 16300
	case "discovery.k8s.io", "resource.k8s.io":
		return 16200
	case "flowcontrol.apiserver.k8s.io":
		return 16100
	case "internal.apiserver.k8s.io":
		return 16000
	case "storagemigration.k8s.io":
		return 15800
	case "lifecycle.k8s.io":
		return 15700
	}
	return 0
}

// versionPriority returns the priority of a built-in version in its group.
func versionPriority(gv schema.GroupVersion) int32 {
	for _, v := range [...]struct {
		group, version string
		priority       int32
	}{
		{"", "v1", 1},
		{"admissionregistration.k8s.io", "v1beta1", 12},
		{"admissionregistration.k8s.io", "v1alpha1", 9},
		{"autoscaling", "v2", 30},
		{"coordination.k8s.io", "v1beta1", 13},
		{"coordination.k8s.io", "v1alpha2", 12},
		{"discovery.k8s.io", "v1beta1", 12},
		{"events.k8s.io", "v1beta1", 5},
		{"flowcontrol.apiserver.k8s.io", "v1", 21},
		{"flowcontrol.apiserver.k8s.io", "v1beta3", 18},
		{"flowcontrol.apiserver.k8s.io", "v1beta2", 15},
		{"flowcontrol.apiserver.k8s.io", "v1beta1", 12},
		{"internal.apiserver.k8s.io", "v1alpha1", 9},
		{"resource.k8s.io", "v1", 21},
		{"resource.k8s.io", "v1beta2", 15},
		{"resource.k8s.io", "v1alpha3", 1},
		{"scheduling.k8s.io", "v1alpha3", 3},
	} {
		if v.group == gv.Group && v.version == gv.Version {
			return v.priority
		}
	}
	switch gv.Version {
	case "v1":
		return 15
	case "v1alpha1":
		return 1
	}
	return 9
}
