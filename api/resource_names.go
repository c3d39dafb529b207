package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Names and amounts of resources beyond those of containers. A name with a slash
// belongs to whoever its domain is.

func bare(name corev1.ResourceName) bool { return !strings.Contains(string(name), "/") }

// quotaName tells of the names without a domain that a quota may limit.
func quotaName(name corev1.ResourceName) bool {
	return name != corev1.ResourceStorage && standardResource(name)
}

// podResource is an amount of something that pods consume.
func podResource(at *place, name corev1.ResourceName, value resource.Quantity) {
	containerResourceName(at, name)
	amount(at, name, value)
}

// basicQuantity is any amount that is not below nothing.
func basicQuantity(at *place, value resource.Quantity) bool {
	if value.Value() < 0 {
		at.invalid(value.Value(), "must be a valid resource quantity")
		return false
	}
	return true
}
