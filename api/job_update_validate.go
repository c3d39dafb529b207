package api

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// jobChanges check an update of a job. kube-apiserver checks the spec twice: as
// that of a job, and as a change of one.
func jobChanges(at *place, is, was *batchv1.Job) {
	_, named := was.Spec.Template.Labels[batchv1.JobNameLabel]
	_, owned := was.Spec.Template.Labels[batchv1.ControllerUidLabel]
	generatedSelectorRules(at, is, named && owned)
	spec := at.of("spec")
	faults := collect(spec, func(at *place) { wholeJobSpecRules(at, &is.Spec, &was.Spec) })
	at.add(faults...)
	podNameRules(at, is)
	at.add(faults...)
	completionsChange(spec.of("completions"), &is.Spec, &was.Spec)
	fixed(spec.of("selector"), is.Spec.Selector, was.Spec.Selector)
	jobTemplateChange(spec.of("template"), is, was)
	fixed(spec.of("completionMode"), is.Spec.CompletionMode, was.Spec.CompletionMode)
	fixed(spec.of("podFailurePolicy"), is.Spec.PodFailurePolicy, was.Spec.PodFailurePolicy)
	fixed(spec.of("backoffLimitPerIndex"), is.Spec.BackoffLimitPerIndex, was.Spec.BackoffLimitPerIndex)
	fixed(spec.of("managedBy"), is.Spec.ManagedBy, was.Spec.ManagedBy)
	fixed(spec.of("successPolicy"), is.Spec.SuccessPolicy, was.Spec.SuccessPolicy)
}

// completionsChange lets indexed jobs grow and shrink, if both numbers change
// alike.
func completionsChange(at *place, is, was *batchv1.JobSpec) {
	if !indexed(is) {
		fixed(at, is.Completions, was.Completions)
		return
	}
	if is.Completions == nil || equality.Semantic.DeepEqual(is.Completions, was.Completions) {
		return
	}
	if is.Parallelism == nil || *is.Completions != *is.Parallelism {
		at.invalid(*is.Completions, "can only be modified in tandem with spec.parallelism")
	}
}

// jobTemplateChange: as long as a suspended job has no pods, it may change where
// its pods run and what they use.
func jobTemplateChange(at *place, is, was *batchv1.Job) {
	now, before := is.Spec.Template, was.Spec.Template
	suspended := was.Spec.Suspend != nil && *was.Spec.Suspend
	if !suspended || was.Status.Active != 0 || was.Status.StartTime != nil && !jobCondition(&was.Status, batchv1.JobSuspended) {
		fixed(at, now, before)
		return
	}
	pod := before.Spec
	pod.NodeSelector = now.Spec.NodeSelector
	pod.Tolerations, pod.SchedulingGates = now.Spec.Tolerations, now.Spec.SchedulingGates
	pod.Affinity = placedAs(pod.Affinity, now.Spec.Affinity)
	pod.Containers = usingAs(pod.Containers, now.Spec.Containers)
	pod.InitContainers = usingAs(pod.InitContainers, now.Spec.InitContainers)
	fixed(at.of("spec"), now.Spec, pod)
}

// jobCondition reports whether a condition of a job is true.
func jobCondition(s *batchv1.JobStatus, t batchv1.JobConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == t && c.Status == corev1.ConditionTrue
	})
}

// placedAs returns an affinity with the choice of nodes of another.
func placedAs(a, other *corev1.Affinity) *corev1.Affinity {
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

// usingAs returns containers with the resources of others of the same names.
func usingAs(list, other []corev1.Container) []corev1.Container {
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
