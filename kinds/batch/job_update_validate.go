package batch

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// jobChanges validates an update of a job. A generated selector is immutable, and not compared with
// the labels of the job again.
func jobChanges(gates features.Gates) func(at *validation.Path, obj, old *batchv1.Job) {
	suspended := suspendedChanges{
		resources:  gates.Enabled(features.MutablePodResourcesForSuspendedJobs),
		scheduling: gates.Enabled(features.MutableSchedulingDirectivesForSuspendedJobs),
	}
	return func(at *validation.Path, obj, old *batchv1.Job) {
		spec := at.Child("spec")
		fullJobSpecRules(spec, &obj.Spec, &old.Spec)
		completionsChange(spec.Child("completions"), &obj.Spec, &old.Spec)
		validation.Immutable(spec.Child("selector"), obj.Spec.Selector, old.Spec.Selector)
		suspended.template(spec.Child("template"), obj, old)
		validation.Immutable(spec.Child("completionMode"), obj.Spec.CompletionMode, old.Spec.CompletionMode)
		validation.Immutable(spec.Child("podFailurePolicy"), obj.Spec.PodFailurePolicy, old.Spec.PodFailurePolicy)
		validation.Immutable(spec.Child("backoffLimitPerIndex"), obj.Spec.BackoffLimitPerIndex, old.Spec.BackoffLimitPerIndex)
		validation.Immutable(spec.Child("managedBy"), obj.Spec.ManagedBy, old.Spec.ManagedBy)
		validation.Immutable(spec.Child("successPolicy"), obj.Spec.SuccessPolicy, old.Spec.SuccessPolicy)
		jobSchedulingChange(spec.Child("scheduling"), obj.Spec.Scheduling, old.Spec.Scheduling)
		podNameRules(at, obj)
	}
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

// suspendedChanges are the changes of the pod template that a suspended job without pods may have
// after it had started before.
type suspendedChanges struct{ resources, scheduling bool }

// template permits changes of scheduling and resources in the pod template of a suspended job.
func (c suspendedChanges) template(at *validation.Path, obj, old *batchv1.Job) {
	now, before := obj.Spec.Template, old.Spec.Template
	suspended := old.Spec.Suspend != nil && *old.Spec.Suspend
	fresh := suspended && old.Status.StartTime == nil
	idle := suspended && old.Status.Active == 0 && (fresh || jobCondition(&old.Status, batchv1.JobSuspended))
	if c.scheduling && idle || !c.scheduling && fresh {
		before.Annotations, before.Labels = now.Annotations, now.Labels
		pod := &before.Spec
		pod.NodeSelector = now.Spec.NodeSelector
		pod.Tolerations, pod.SchedulingGates = now.Spec.Tolerations, now.Spec.SchedulingGates
		pod.Affinity = withNodeAffinityOf(pod.Affinity, now.Spec.Affinity)
	}
	if !c.resources || !idle {
		validation.Immutable(at, now, before)
		return
	}
	before.Spec.Containers = withResourcesOf(before.Spec.Containers, now.Spec.Containers)
	before.Spec.InitContainers = withResourcesOf(before.Spec.InitContainers, now.Spec.InitContainers)
	validation.Immutable(at.Child("spec"), now.Spec, before.Spec)
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
