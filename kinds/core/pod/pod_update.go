package pod

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// fixedPod is the error for a change of any other field of the spec.
const fixedPod = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

func podChanges(at *validation.Path, obj, old *corev1.Pod) {
	podRules(at, obj, old)
	podAnnotationChanges(at.Child("metadata").Child("annotations"), obj, old)
	podSpecChanges(at.Child("spec"), &obj.Spec, &old.Spec)
}

// podSpecChanges validates an update of the spec, of which few fields are mutable.
func podSpecChanges(at *validation.Path, spec, old *corev1.PodSpec) {
	if !sameContainers(at.Child("containers"), spec.Containers, old.Containers) ||
		!sameContainers(at.Child("initContainers"), spec.InitContainers, old.InitContainers) ||
		!deadlineChange(at.Child("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds, old.ActiveDeadlineSeconds) {
		return
	}
	tolerationsAdded(at.Child("tolerations"), spec.Tolerations, old.Tolerations)
	gatesRemoved(at.Child("schedulingGates"), spec.SchedulingGates, old.SchedulingGates)
	if equality.Semantic.DeepEqual(spec, old) {
		return
	}
	// To find other changes, the mutable fields are restored first.
	rest := spec.DeepCopy()
	for i := range rest.Containers {
		rest.Containers[i].Image = old.Containers[i].Image
	}
	for i := range rest.InitContainers {
		rest.InitContainers[i].Image = old.InitContainers[i].Image
	}
	if len(rest.Containers) == 0 {
		rest.Containers = nil // as the difference in kube-apiserver's error shows it
	}
	if len(rest.InitContainers) == 0 {
		rest.InitContainers = nil
	}
	rest.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	rest.SchedulingGates = old.SchedulingGates
	rest.Tolerations = old.Tolerations
	if g, p := rest.TerminationGracePeriodSeconds, old.TerminationGracePeriodSeconds; p != nil && *p < 0 && g != nil && *g == 1 {
		rest.TerminationGracePeriodSeconds = p
	}
	if len(old.SchedulingGates) > 0 {
		gatedChanges(at, rest, old)
	}
	if !equality.Semantic.DeepEqual(rest, old) {
		at.Forbidden(fixedPod + validation.InternalDiff(*old, *rest))
	}
}

// sameContainers reports whether the numbers of containers are equal and all images are set.
// If not, no further fields are compared.
func sameContainers(at *validation.Path, list, old []corev1.Container) bool {
	if len(list) != len(old) {
		at.Forbidden("pod updates may not add or remove containers")
		return false
	}
	for i := range list {
		if list[i].Image == "" {
			at.Index(i).Child("image").Required("")
		}
		trimmedImage(at.Index(i), list[i].Image)
	}
	return true
}

// deadlineChange validates that a deadline is only added or shortened. It reports whether the
// other fields should be compared.
func deadlineChange(at *validation.Path, value, old *int64) bool {
	switch {
	case value == nil:
		if old != nil {
			at.Invalid(nil, "must not update from a positive integer to nil value")
		}
	case *value < 0 || *value > math.MaxInt32:
		return validation.InRange(at, *value, 0, math.MaxInt32)
	case old != nil && *old < *value:
		at.Invalid(*value, "must be less than or equal to previous value")
		return false
	}
	return true
}

// tolerationsAdded validates that tolerations are only added, and that only tolerationSeconds
// of others changes.
func tolerationsAdded(at *validation.Path, list, stored []corev1.Toleration) {
	withoutSeconds := func(t *corev1.Toleration) corev1.Toleration {
		return corev1.Toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect}
	}
	now := validation.IndexOf(list, withoutSeconds)
	for i := range stored {
		if !now.Has(withoutSeconds(&stored[i])) {
			at.Forbidden("existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
	TolerationRules(at, list, at.Enabled(features.TaintTolerationComparisonOperators) ||
		slices.ContainsFunc(stored, func(t corev1.Toleration) bool { return comparesNumbers(t.Operator) }))
}

// gatesRemoved validates that no scheduling gate is added. Of several new gates with one name, the
// last one has the error.
func gatesRemoved(at *validation.Path, list, old []corev1.PodSchedulingGate) {
	was := validation.IndexOf(old, func(g *corev1.PodSchedulingGate) string { return g.Name })
	last := make(map[string]int, len(list))
	for i, gate := range list {
		last[gate.Name] = i
	}
	for i, gate := range list {
		if !was.Has(gate.Name) && last[gate.Name] == i {
			at.Index(i).Child("name").Forbidden(fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name))
		}
	}
}

// gatedChanges validates that the node selectors of a pod with scheduling gates only become
// narrower. It restores the allowed changes in rest.
func gatedChanges(at *validation.Path, rest, old *corev1.PodSpec) {
	if !equality.Semantic.DeepEqual(rest.NodeSelector, old.NodeSelector) {
		for key, value := range old.NodeSelector {
			if now, ok := rest.NodeSelector[key]; !ok || now != value {
				at.Child("nodeSelector").Invalid(rest.NodeSelector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
				break
			}
		}
		rest.NodeSelector = old.NodeSelector
	}
	nodeAffinity := func(a *corev1.Affinity) *corev1.NodeAffinity {
		if a == nil {
			return nil
		}
		return a.NodeAffinity
	}
	now, before := nodeAffinity(rest.Affinity), nodeAffinity(old.Affinity)
	if equality.Semantic.DeepEqual(now, before) {
		return
	}
	termsNarrowed(at.Child("affinity").Child("nodeAffinity").Child("requiredDuringSchedulingIgnoredDuringExecution").Child("nodeSelectorTerms"),
		requiredTerms(now), requiredTerms(before))
	switch {
	case rest.Affinity == nil:
		rest.Affinity = &corev1.Affinity{NodeAffinity: before}
	case old.Affinity == nil && rest.Affinity.PodAffinity == nil && rest.Affinity.PodAntiAffinity == nil:
		rest.Affinity = nil
	default:
		rest.Affinity.NodeAffinity = before
	}
}

func requiredTerms(n *corev1.NodeAffinity) []corev1.NodeSelectorTerm {
	if n == nil || n.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// termsNarrowed validates that no term is added, because only one of the terms must match, and
// that requirements of a term are only added, because all of them must match.
func termsNarrowed(at *validation.Path, list, old []corev1.NodeSelectorTerm) {
	if len(old) == 0 {
		return
	}
	if len(list) != len(old) {
		at.Invalid(list, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	for i := range old {
		empty := len(old[i].MatchExpressions)+len(old[i].MatchFields) == 0 && len(list[i].MatchExpressions)+len(list[i].MatchFields) > 0
		if empty || !onlyExtends(list[i].MatchExpressions, old[i].MatchExpressions) || !onlyExtends(list[i].MatchFields, old[i].MatchFields) {
			at.Index(i).Invalid(list[i], "only additions are allowed (no mutations or deletions)")
		}
	}
}

// onlyExtends reports whether list begins with the items of old.
func onlyExtends(list, old []corev1.NodeSelectorRequirement) bool {
	return len(old) == 0 || len(list) >= len(old) && equality.Semantic.DeepEqual(list[:len(old)], old)
}

// ephemeralContainerChanges validates that ephemeral containers are only added, in any
// order.
func ephemeralContainerChanges(at *validation.Path, obj, old *corev1.Pod) {
	if _, ok := old.Annotations[mirrorAnnotation]; ok {
		at.Add(field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers"))
		return
	}
	podRules(at, obj, old)
	podAnnotationChanges(at.Child("metadata").Child("annotations"), obj, old)
	list := at.Child("spec").Child("ephemeralContainers")
	for i := range old.Spec.EphemeralContainers {
		before := &old.Spec.EphemeralContainers[i]
		now := ephemeralContainer(obj.Spec.EphemeralContainers, before.Name)
		switch {
		case now == nil:
			list.Forbidden(fmt.Sprintf("existing ephemeral containers %q may not be removed\n", before.Name))
		case !equality.Semantic.DeepEqual(before, now):
			list.Forbidden(fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", before.Name,
				validation.InternalDiff(*before, *now)))
		}
	}
}

func ephemeralContainer(list []corev1.EphemeralContainer, name string) *corev1.EphemeralContainer {
	// If two have the same name, the later one counts.
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
