package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// IsHugePages reports whether a resource is huge pages of some size.
func IsHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// ResourceName validates the name of a resource, as quotas and limit ranges have it.
func ResourceName(at *Path, name corev1.ResourceName) bool {
	faults := QualifiedName(string(name))
	for _, fault := range faults {
		at.InvalidOrigin("format=k8s-long-name-caseless", name, fault)
	}
	if len(faults) > 0 {
		return false
	}
	if IsUnprefixed(name) && !isStandardResource(name) {
		at.Invalid(name, "must be a standard resource type or fully qualified")
		return false
	}
	return true
}

// ContainerResourceName validates the name of a resource that containers can request.
func ContainerResourceName(at *Path, name corev1.ResourceName) {
	ResourceName(at, name)
	switch {
	case IsUnprefixed(name):
		if !isContainerResource(name) {
			at.Invalid(name, "must be a standard resource for containers")
		}
	case !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) && !IsExtendedResource(name):
		at.Invalid(name, "doesn't follow extended resource name standard")
	}
}

// isContainerResource reports whether an unprefixed name is a resource that containers can
// request.
func isContainerResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage || IsHugePages(name)
}

// isStandardResource reports whether name is one of the valid unprefixed names.
func isStandardResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
		corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims, corev1.ResourceStorage,
		corev1.ResourceRequestsStorage, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return isContainerResource(name) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// IsUnprefixed reports whether the name of a resource has no domain.
func IsUnprefixed(name corev1.ResourceName) bool { return !strings.Contains(string(name), "/") }

// IsQuotaName reports whether a quota can limit a resource with this unprefixed name.
func IsQuotaName(name corev1.ResourceName) bool {
	return name != corev1.ResourceStorage && isStandardResource(name)
}

// BasicQuantity validates that a quantity is at least 0, with the message of volumes and
// claims.
func BasicQuantity(at *Path, value resource.Quantity) bool {
	if value.Value() < 0 {
		at.Invalid(value.Value(), "must be a valid resource quantity")
		return false
	}
	return true
}

// NotSupported records that a value is not one of the valid ones. Unlike OneOf it takes a
// value of any type.
func NotSupported[T ~string](at *Path, value any, valid ...T) {
	at.Add(field.NotSupported(at.ToField(), InternalForm(value), valid))
}

// maxDriverName is the maximum length of the name of a CSI driver.
const maxDriverName = 63

// DriverName validates the name of a CSI driver, which may have upper-case letters.
func DriverName(at *Path, name string) {
	if !Required(at, name) {
		return
	}
	if len(name) > maxDriverName {
		at.TooLong(maxDriverName)
	}
	for _, fault := range DNSSubdomain(strings.ToLower(name)) {
		at.InvalidOrigin("format=k8s-long-name-caseless", name, fault)
	}
}
