package batch

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// jobChanges validates an update of a job. Like kube-apiserver, it validates the spec twice:
// on its own, and as an update.
func jobChanges(at *validation.Path, is, was *batchv1.Job) {
	_, named := was.Spec.Template.Labels[batchv1.JobNameLabel]
	_, owned := was.Spec.Template.Labels[batchv1.ControllerUidLabel]
	generatedSelectorRules(at, is, named && owned)
	spec := at.Child("spec")
	faults := validation.Collect(spec, func(at *validation.Path) { fullJobSpecRules(at, &is.Spec, &was.Spec) })
	at.Add(faults...)
	podNameRules(at, is)
	at.Add(faults...)
	completionsChange(spec.Child("completions"), &is.Spec, &was.Spec)
	validation.Immutable(spec.Child("selector"), is.Spec.Selector, was.Spec.Selector)
	jobTemplateChange(spec.Child("template"), is, was)
	validation.Immutable(spec.Child("completionMode"), is.Spec.CompletionMode, was.Spec.CompletionMode)
	validation.Immutable(spec.Child("podFailurePolicy"), is.Spec.PodFailurePolicy, was.Spec.PodFailurePolicy)
	validation.Immutable(spec.Child("backoffLimitPerIndex"), is.Spec.BackoffLimitPerIndex, was.Spec.BackoffLimitPerIndex)
	validation.Immutable(spec.Child("managedBy"), is.Spec.ManagedBy, was.Spec.ManagedBy)
	validation.Immutable(spec.Child("successPolicy"), is.Spec.SuccessPolicy, was.Spec.SuccessPolicy)
}

// completionsChange permits a change of the completions of an indexed job if parallelism
// changes to the same number.
func completionsChange(at *validation.Path, is, was *batchv1.JobSpec) {
	if !isIndexed(is) {
		validation.Immutable(at, is.Completions, was.Completions)
		return
	}
	if is.Completions == nil || equality.Semantic.DeepEqual(is.Completions, was.Completions) {
		return
	}
	if is.Parallelism == nil || *is.Completions != *is.Parallelism {
		at.Invalid(*is.Completions, "can only be modified in tandem with spec.parallelism")
	}
}

// jobTemplateChange permits changes of scheduling and resources in the pod template of a
// suspended job that has no pods.
func jobTemplateChange(at *validation.Path, is, was *batchv1.Job) {
	now, before := is.Spec.Template, was.Spec.Template
	suspended := was.Spec.Suspend != nil && *was.Spec.Suspend
	if !suspended || was.Status.Active != 0 || was.Status.StartTime != nil && !jobCondition(&was.Status, batchv1.JobSuspended) {
		validation.Immutable(at, now, before)
		return
	}
	pod := before.Spec
	pod.NodeSelector = now.Spec.NodeSelector
	pod.Tolerations, pod.SchedulingGates = now.Spec.Tolerations, now.Spec.SchedulingGates
	pod.Affinity = withNodeAffinityOf(pod.Affinity, now.Spec.Affinity)
	pod.Containers = withResourcesOf(pod.Containers, now.Spec.Containers)
	pod.InitContainers = withResourcesOf(pod.InitContainers, now.Spec.InitContainers)
	validation.Immutable(at.Child("spec"), now.Spec, pod)
}

// jobCondition reports whether a condition of a job is true.
func jobCondition(s *batchv1.JobStatus, t batchv1.JobConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == t && c.Status == corev1.ConditionTrue
	})
}

// withNodeAffinityOf returns an affinity with the node affinity of another.
func withNodeAffinityOf(a, other *corev1.Affinity) *corev1.Affinity {
	switch {
	case a == nil && other == nil:
		return nil
	case a == nil:
		return &corev1.Affinity{NodeAffinity: other.NodeAffinity}
	case other == nil && a.PodAffinity == nil && a.PodAntiAffinity == nil:
		return nil
	}
	placed := *a
	placed.NodeAffinity = nil
	if other != nil {
		placed.NodeAffinity = other.NodeAffinity
	}
	return &placed
}

// withResourcesOf returns containers with the resources of other containers of the same
// names.
func withResourcesOf(list, other []corev1.Container) []corev1.Container {
	if len(list) != len(other) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		if list[i].Name == other[i].Name {
			list[i].Resources = other[i].Resources
		}
	}
	return list
}
