package quota

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// subtractFrom subtracts less from sum, which may become negative.
func subtractFrom(sum, less corev1.ResourceList) {
	for name, q := range less {
		is, ok := sum[name]
		if !ok {
			is = resource.Quantity{Format: q.Format}
		}
		is = is.DeepCopy()
		is.Sub(q)
		sum[name] = is
	}
}

// mask returns the amounts of list with the given names.
func mask(list corev1.ResourceList, names []corev1.ResourceName) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range names {
		if q, ok := list[name]; ok {
			out[name] = q
		}
	}
	return out
}

// formatAmounts formats amounts for messages: "pods=1,secrets=2".
func formatAmounts(list corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		parts = append(parts, string(name)+"="+q.String())
	}
	return strings.Join(parts, ",")
}

// formatNames formats names for messages.
func formatNames(names []corev1.ResourceName) string {
	names = slices.Sorted(slices.Values(names))
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = string(n)
	}
	return strings.Join(parts, ",")
}
