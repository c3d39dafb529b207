package api

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rulesOf makes the check of a Resource of the rules of its Go type.
func rulesOf[T Object](rules func(at *place, obj T)) func(Object) field.ErrorList {
	return func(obj Object) field.ErrorList {
		return check(func(at *place) { rules(at, obj.(T)) })
	}
}

// changesOf is rulesOf for the change of an object.
func changesOf[T Object](rules func(at *place, is, was T)) func(obj, old Object) field.ErrorList {
	return func(obj, old Object) field.ErrorList {
		return check(func(at *place) { rules(at, obj.(T), old.(T)) })
	}
}

// segment is a name that fits between two slashes of a path.
func segment(value string) []string { return segmentName(value, false) }

// notBoth refuses a wildcard beside other entries of a list.
func notBoth(at *place, list []string, others string) bool {
	if len(list) > 1 && hasStar(list) {
		at.invalid(list, "if '*' is present, must not specify other "+others)
		return false
	}
	return true
}

func hasStar[T ~string](list []T) bool {
	for _, s := range list {
		if s == "*" {
			return true
		}
	}
	return false
}

// conditionRules are for conditions of the common form.
func conditionRules(at *place, conditions []metav1.Condition) {
	if len(conditions) > 0 {
		at.add(metavalidation.ValidateConditions(conditions, at.path())...)
	}
}

// amount is a quantity of a resource, which for things that are counted is a
// whole number.
func amount(at *place, name corev1.ResourceName, value resource.Quantity) {
	nonNegativeQuantity(at, value)
	if counted(name) && value.MilliValue()%1000 != 0 {
		at.invalid(value, "must be an integer")
	}
}

// counted tells of resources that come in pieces.
func counted(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return extendedResource(name)
}

// extendedResource tells of resources that are not Kubernetes' own.
func extendedResource(name corev1.ResourceName) bool {
	s := string(name)
	if !strings.Contains(s, "/") || strings.Contains(s, "kubernetes.io/") || strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(qualifiedName(corev1.DefaultResourceRequestsPrefix+s)) == 0
}

// wholeMillis rounds amounts up to thousandths, the finest that is kept.
func wholeMillis(list corev1.ResourceList) {
	for name, value := range list {
		if value.RoundUp(resource.Milli) {
			continue
		}
		list[name] = value
	}
}

// sortedKeys are the names of a list in an order that is always the same, so
// that faults are too.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
