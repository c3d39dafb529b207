package quota

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// excess returns the positive differences of list and less.
func excess(list, less corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range list {
		q = q.DeepCopy()
		if q.Sub(less[name]); q.Sign() > 0 {
			out[name] = q
		}
	}
	return out
}

// addAmounts adds more to sum.
func addAmounts(sum, more corev1.ResourceList) {
	for name, q := range more {
		total := sum[name].DeepCopy()
		total.Add(q)
		sum[name] = total
	}
}

// raiseAmounts sets each amount of sum to the maximum of both lists.
func raiseAmounts(sum, least corev1.ResourceList) {
	for name, q := range least {
		if amount, ok := sum[name]; !ok || q.Cmp(amount) > 0 {
			sum[name] = q.DeepCopy()
		}
	}
}

// withoutZeros removes the amounts that are zero from list and returns it.
func withoutZeros(list corev1.ResourceList) corev1.ResourceList {
	maps.DeleteFunc(list, func(_ corev1.ResourceName, q resource.Quantity) bool { return q.IsZero() })
	return list
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
