package pod

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// fixedPod is said of a change of anything else in the spec of a pod.
const fixedPod = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

func validatePodUpdate(obj, old *corev1.Pod) field.ErrorList {
	return validation.Check(func(at *validation.Path) {
		is, was := obj, old
		podRules(at, is, was)
		podAnnotationChanges(at.Child("metadata").Child("annotations"), is.Annotations, was.Annotations, &is.Spec)
		podSpecChanges(at.Child("spec"), &is.Spec, &was.Spec)
	})
}

// podSpecChanges let little of a pod change once it is there.
func podSpecChanges(at *validation.Path, is, was *corev1.PodSpec) {
	if !sameContainers(at.Child("containers"), is.Containers, was.Containers) ||
		!sameContainers(at.Child("initContainers"), is.InitContainers, was.InitContainers) ||
		!deadlineChange(at.Child("activeDeadlineSeconds"), is.ActiveDeadlineSeconds, was.ActiveDeadlineSeconds) {
		return
	}
	tolerationsAdded(at.Child("tolerations"), is.Tolerations, was.Tolerations)
	gatesRemoved(at.Child("schedulingGates"), is.SchedulingGates, was.SchedulingGates)
	if equality.Semantic.DeepEqual(is, was) {
		return
	}
	// What may change is put back, to see whether anything else did.
	rest := is.DeepCopy()
	for i := range rest.Containers {
		rest.Containers[i].Image = was.Containers[i].Image
	}
	for i := range rest.InitContainers {
		rest.InitContainers[i].Image = was.InitContainers[i].Image
	}
	rest.ActiveDeadlineSeconds = was.ActiveDeadlineSeconds
	rest.SchedulingGates = was.SchedulingGates
	rest.Tolerations = was.Tolerations
	if g, p := rest.TerminationGracePeriodSeconds, was.TerminationGracePeriodSeconds; p != nil && *p < 0 && g != nil && *g == 1 {
		rest.TerminationGracePeriodSeconds = p
	}
	if len(was.SchedulingGates) > 0 {
		gatedChanges(at, rest, was)
	}
	if !equality.Semantic.DeepEqual(rest, was) {
		at.Forbidden(fixedPod + validation.InternalDiff(*was, *rest))
	}
}

// sameContainers tells whether there is any use in looking further.
func sameContainers(at *validation.Path, is, was []corev1.Container) bool {
	if len(is) != len(was) {
		at.Forbidden("pod updates may not add or remove containers")
		return false
	}
	for i := range is {
		if is[i].Image == "" {
			at.Index(i).Child("image").Required("")
		}
		trimmedImage(at.Index(i), is[i].Image)
	}
	return true
}

// deadlineChange lets a deadline be set and come closer.
func deadlineChange(at *validation.Path, is, was *int64) bool {
	switch {
	case is == nil:
		if was != nil {
			at.Invalid(nil, "must not update from a positive integer to nil value")
		}
	case *is < 0 || *is > math.MaxInt32:
		return validation.InRange(at, *is, 0, math.MaxInt32)
	case was != nil && *was < *is:
		at.Invalid(*is, "must be less than or equal to previous value")
		return false
	}
	return true
}

// tolerationsAdded lets tolerations be added, and last longer or shorter.
func tolerationsAdded(at *validation.Path, is, was []corev1.Toleration) {
	for _, old := range was {
		found := false
		for _, t := range is {
			old.TolerationSeconds = t.TolerationSeconds
			if equality.Semantic.DeepEqual(old, t) {
				found = true
				break
			}
		}
		if !found {
			at.Forbidden("existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
	TolerationRules(at, is, slices.ContainsFunc(was, func(t corev1.Toleration) bool { return compares(t.Operator) }))
}

func gatesRemoved(at *validation.Path, is, was []corev1.PodSchedulingGate) {
	var had validation.Unique[string]
	for _, gate := range was {
		had.Insert(gate.Name)
	}
	for i, gate := range is {
		if !had.Has(gate.Name) {
			at.Index(i).Child("name").Forbidden(fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name))
		}
	}
}

// gatedChanges let the choice of nodes become narrower as long as the pod is not
// ready to be scheduled. What was allowed is put back into rest.
func gatedChanges(at *validation.Path, rest, was *corev1.PodSpec) {
	if !equality.Semantic.DeepEqual(rest.NodeSelector, was.NodeSelector) {
		for key, value := range was.NodeSelector {
			if now, ok := rest.NodeSelector[key]; !ok || now != value {
				at.Child("nodeSelector").Invalid(rest.NodeSelector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
				break
			}
		}
		rest.NodeSelector = was.NodeSelector
	}
	nodeAffinity := func(a *corev1.Affinity) *corev1.NodeAffinity {
		if a == nil {
			return nil
		}
		return a.NodeAffinity
	}
	now, before := nodeAffinity(rest.Affinity), nodeAffinity(was.Affinity)
	if equality.Semantic.DeepEqual(now, before) {
		return
	}
	termsNarrowed(at.Child("affinity").Child("nodeAffinity").Child("requiredDuringSchedulingIgnoredDuringExecution").Child("nodeSelectorTerms"),
		requiredTerms(now), requiredTerms(before))
	switch {
	case rest.Affinity == nil:
		rest.Affinity = &corev1.Affinity{NodeAffinity: before}
	case was.Affinity == nil && rest.Affinity.PodAffinity == nil && rest.Affinity.PodAntiAffinity == nil:
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

// termsNarrowed: of several terms one has to match, so that another term makes
// the choice wider; within a term all requirements have to.
func termsNarrowed(at *validation.Path, is, was []corev1.NodeSelectorTerm) {
	if len(was) == 0 {
		return
	}
	if len(is) != len(was) {
		at.Invalid(is, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	for i := range was {
		empty := len(was[i].MatchExpressions)+len(was[i].MatchFields) == 0 && len(is[i].MatchExpressions)+len(is[i].MatchFields) > 0
		if empty || !extends(is[i].MatchExpressions, was[i].MatchExpressions) || !extends(is[i].MatchFields, was[i].MatchFields) {
			at.Index(i).Invalid(is[i], "only additions are allowed (no mutations or deletions)")
		}
	}
}

// extends tells whether a list begins with another one.
func extends(is, was []corev1.NodeSelectorRequirement) bool {
	return len(was) == 0 || len(is) >= len(was) && equality.Semantic.DeepEqual(is[:len(was)], was)
}

// validateEphemeralContainers: containers that look into a pod are added, and
// stay as they are. Their order is no matter.
func validateEphemeralContainers(obj, old *corev1.Pod) field.ErrorList {
	return validation.Check(func(at *validation.Path) {
		is, was := obj, old
		if _, ok := was.Annotations[mirrorAnnotation]; ok {
			at.Add(field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers"))
			return
		}
		podRules(at, is, was)
		podAnnotationChanges(at.Child("metadata").Child("annotations"), is.Annotations, was.Annotations, &is.Spec)
		list := at.Child("spec").Child("ephemeralContainers")
		for i := range was.Spec.EphemeralContainers {
			old := &was.Spec.EphemeralContainers[i]
			now := ephemeralContainer(is.Spec.EphemeralContainers, old.Name)
			switch {
			case now == nil:
				list.Forbidden(fmt.Sprintf("existing ephemeral containers %q may not be removed\n", old.Name))
			case !equality.Semantic.DeepEqual(old, now):
				list.Forbidden(fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", old.Name, validation.InternalDiff(*old, *now)))
			}
		}
	})
}

func ephemeralContainer(list []corev1.EphemeralContainer, name string) *corev1.EphemeralContainer {
	// Of two with the same name, the later one counts.
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
