package batch

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// jobChanges validates an update of a job. A generated selector is immutable, and not compared with
// the labels of the job again.
func jobChanges(at *validation.Path, obj, old *batchv1.Job) {
	spec := at.Child("spec")
	fullJobSpecRules(spec, &obj.Spec, &old.Spec)
	completionsChange(spec.Child("completions"), &obj.Spec, &old.Spec)
	validation.Immutable(spec.Child("selector"), obj.Spec.Selector, old.Spec.Selector)
	jobTemplateChange(spec.Child("template"), obj, old)
	validation.Immutable(spec.Child("completionMode"), obj.Spec.CompletionMode, old.Spec.CompletionMode)
	validation.Immutable(spec.Child("podFailurePolicy"), obj.Spec.PodFailurePolicy, old.Spec.PodFailurePolicy)
	validation.Immutable(spec.Child("backoffLimitPerIndex"), obj.Spec.BackoffLimitPerIndex, old.Spec.BackoffLimitPerIndex)
	validation.Immutable(spec.Child("managedBy"), obj.Spec.ManagedBy, old.Spec.ManagedBy)
	validation.Immutable(spec.Child("successPolicy"), obj.Spec.SuccessPolicy, old.Spec.SuccessPolicy)
	jobSchedulingChange(spec.Child("scheduling"), obj.Spec.Scheduling, old.Spec.Scheduling)
	podNameRules(at, obj)
}

// completionsChange permits a change of the completions of an indexed job if parallelism
// changes to the same number.
func completionsChange(at *validation.Path, spec, old *batchv1.JobSpec) {
	if !isIndexed(spec) {
		validation.Immutable(at, spec.Completions, old.Completions)
		return
	}
	if spec.Completions == nil || equality.Semantic.DeepEqual(spec.Completions, old.Completions) {
		return
	}
	if spec.Parallelism == nil || *spec.Completions != *spec.Parallelism {
		at.Invalid(*spec.Completions, "can only be modified in tandem with spec.parallelism")
	}
}

// jobTemplateChange permits changes of scheduling and resources in the pod template of a
// suspended job that has no pods.
func jobTemplateChange(at *validation.Path, obj, old *batchv1.Job) {
	now, before := obj.Spec.Template, old.Spec.Template
	suspended := old.Spec.Suspend != nil && *old.Spec.Suspend
	if !suspended || old.Status.Active != 0 || old.Status.StartTime != nil && !jobCondition(&old.Status, batchv1.JobSuspended) {
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
