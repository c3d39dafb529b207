package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// Segment is the format of a segment of a URL path.
func Segment(value string) []string { return SegmentName(value, false) }

// WildcardAlone validates that a list with a wildcard has no other entries.
func WildcardAlone(at *Path, list []string, others string) bool {
	if len(list) > 1 && HasWildcard(list) {
		at.Invalid(list, "if '*' is present, must not specify other "+others)
		return false
	}
	return true
}

// HasWildcard reports whether a list contains "*".
func HasWildcard[T ~string](list []T) bool {
	for _, s := range list {
		if s == "*" {
			return true
		}
	}
	return false
}

// ConditionRules validates status conditions of the type metav1.Condition.
func ConditionRules(at *Path, conditions []metav1.Condition) {
	if len(conditions) > 0 {
		at.Add(metavalidation.ValidateConditions(conditions, at.ToField())...)
	}
}

// ResourceQuantity validates a quantity of a resource: countable resources need an integer.
func ResourceQuantity(at *Path, name corev1.ResourceName, value resource.Quantity) {
	NonNegativeQuantity(at, value)
	if isCountedResource(name) && value.MilliValue()%1000 != 0 {
		at.Invalid(value, "must be an integer")
	}
}

// isCountedResource reports whether a resource has integer quantities only.
func isCountedResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return IsExtendedResource(name)
}

// IsExtendedResource reports whether a resource has a domain other than kubernetes.io.
func IsExtendedResource(name corev1.ResourceName) bool {
	s := string(name)
	if !strings.Contains(s, "/") || strings.Contains(s, "kubernetes.io/") || strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(QualifiedName(corev1.DefaultResourceRequestsPrefix+s)) == 0
}

// RoundToMillis rounds quantities up to thousandths, the finest precision that is stored.
func RoundToMillis(list corev1.ResourceList) {
	for name, value := range list {
		if value.RoundUp(resource.Milli) {
			continue
		}
		list[name] = value
	}
}

// SortedKeys returns the keys of a map in sorted order, which makes the order of errors
// deterministic.
func SortedKeys[K ~string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
