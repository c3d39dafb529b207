package plugins

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// mergeTolerations joins two lists and drops tolerations that another one covers. Of equal ones it
// preserves the first.
func mergeTolerations(first, second []corev1.Toleration) []corev1.Toleration {
	all := slices.Concat(first, second)
	var merged []corev1.Toleration
	for i := range all {
		t := &all[i]
		covered := slices.ContainsFunc(merged, func(m corev1.Toleration) bool { return tolerationCovers(&m, t) }) ||
			slices.ContainsFunc(all[i+1:], func(m corev1.Toleration) bool { return !equality.Semantic.DeepEqual(&m, t) && tolerationCovers(&m, t) })
		if !covered {
			merged = append(merged, *t)
		}
	}
	return merged
}

// tolerationCovers reports whether wide tolerates every taint that t tolerates.
func tolerationCovers(wide, t *corev1.Toleration) bool {
	if equality.Semantic.DeepEqual(wide, t) {
		return true
	}
	exists := wide.Operator == corev1.TolerationOpExists
	switch {
	case t.Key != wide.Key && (wide.Key != "" || !exists):
		return false
	case t.Effect != wide.Effect && wide.Effect != "":
		return false
	case wide.Effect == corev1.TaintEffectNoExecute && wide.TolerationSeconds != nil &&
		(t.TolerationSeconds == nil || *t.TolerationSeconds > *wide.TolerationSeconds):
		return false
	case exists:
		return true
	}
	return (wide.Operator == "" || wide.Operator == corev1.TolerationOpEqual) && t.Operator == corev1.TolerationOpEqual && t.Value == wide.Value
}
