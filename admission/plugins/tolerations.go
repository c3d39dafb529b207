package plugins

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// mergeTolerations joins two lists and drops tolerations that another one covers. Of equal ones it
// preserves the first.
func mergeTolerations(first, second []corev1.Toleration) []corev1.Toleration {
	all := slices.Concat(first, second)
	var merged []corev1.Toleration
	for i := range all {
		t := &all[i]
		covered := slices.ContainsFunc(merged, func(m corev1.Toleration) bool { return tolerationCovers(&m, t) }) ||
			slices.ContainsFunc(all[i+1:], func(m corev1.Toleration) bool { return !equalTolerations(&m, t) && tolerationCovers(&m, t) })
		if !covered {
			merged = append(merged, *t)
		}
	}
	return merged
}

// equalTolerations is reflect.DeepEqual for tolerations, of which a pod may have tens of thousands.
func equalTolerations(a, b *corev1.Toleration) bool {
	if a.Key != b.Key || a.Value != b.Value || a.Operator != b.Operator || a.Effect != b.Effect {
		return false
	}
	if a.TolerationSeconds == nil || b.TolerationSeconds == nil {
		return a.TolerationSeconds == b.TolerationSeconds
	}
	return *a.TolerationSeconds == *b.TolerationSeconds
}

// tolerationCovers reports whether wide tolerates every taint that t tolerates.
func tolerationCovers(wide, t *corev1.Toleration) bool {
	if equalTolerations(wide, t) {
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
	return (wide.Operator == "" || wide.Operator == corev1.TolerationOpEqual) &&
		t.Operator == corev1.TolerationOpEqual && t.Value == wide.Value
}
