package api

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

func jobRules(at *place, j *batchv1.Job) {
	generatedSelectorRules(at, j)
	jobSpecRules(at.of("spec"), &j.Spec, nil)
	jobSelectorRules(at.of("spec"), &j.Spec, nil)
	if indexed(&j.Spec) && j.Spec.Completions != nil && *j.Spec.Completions > 0 {
		// Pods are called after the job and their number.
		last := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1)
		if len(dnsLabel(last)) > 0 {
			at.of("metadata").of("name").invalid(j.Name, "will not able to create pod with invalid DNS label: "+last)
		}
	}
}

// generatedSelectorRules: the selector that the server made is still what the
// server made, and the pods have the labels that it looks for.
func generatedSelectorRules(at *place, j *batchv1.Job) {
	if j.Spec.ManualSelector != nil && *j.Spec.ManualSelector || j.Spec.Selector == nil {
		return
	}
	if j.UID == "" {
		at.of("metadata").of("uid").required("")
	}
	metadata := at.of("spec").of("template").of("metadata")
	expected := labels.Set{}
	for _, l := range [][2]string{
		{"controller-uid", string(j.UID)}, {"job-name", j.Name},
		{batchv1.ControllerUidLabel, string(j.UID)}, {batchv1.JobNameLabel, j.Name},
	} {
		expected[l[0]] = l[1]
		switch value, ok := j.Spec.Template.Labels[l[0]]; {
		case !ok:
			metadata.of("labels").key(l[0]).required("must be '" + l[1] + "'")
		case value != l[1]:
			metadata.of("labels").key(l[0]).invalid(j.Spec.Template.Labels, "must be '"+l[1]+"'")
		}
	}
	if s, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && !s.Matches(expected) {
		at.of("spec").of("selector").invalid(j.Spec.Selector, "`selector` not auto-generated")
	}
}

// jobSelectorRules: whoever made the selector, it has to find the pods.
func jobSelectorRules(at *place, s *batchv1.JobSpec, was *metav1.LabelSelector) {
	if s.Selector == nil {
		at.of("selector").required("")
	} else {
		lenientSelectorRules(at.of("selector"), s.Selector, brokenSelector(was))
	}
	if parsed, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil && !parsed.Matches(labels.Set(s.Template.Labels)) {
		at.of("template").of("metadata").of("labels").invalid(s.Template.Labels, mismatch)
	}
}

func indexed(s *batchv1.JobSpec) bool {
	return s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion
}

// Bounds of a job whose pods are numbered.
const (
	maxIndexed      = 100000
	manyIndexes     = 100000
	maxManyParallel = 10000
)

// jobSpecRules are for jobs and the templates of jobs. was is the stored template
// of the pods.
func jobSpecRules(at *place, s *batchv1.JobSpec, was *corev1.PodTemplateSpec) {
	optionalNonNegative(at.of("parallelism"), s.Parallelism)
	optionalNonNegative(at.of("completions"), s.Completions)
	optionalNonNegative(at.of("activeDeadlineSeconds"), s.ActiveDeadlineSeconds)
	optionalNonNegative(at.of("backoffLimit"), s.BackoffLimit)
	optionalNonNegative(at.of("ttlSecondsAfterFinished"), s.TTLSecondsAfterFinished)
	optionalNonNegative(at.of("maxFailedIndexes"), s.MaxFailedIndexes)
	optionalNonNegative(at.of("backoffLimitPerIndex"), s.BackoffLimitPerIndex)
	if s.ManagedBy != nil {
		managedByRules(at.of("managedBy"), *s.ManagedBy)
	}
	completionRules(at, s)
	if s.PodFailurePolicy != nil {
		failurePolicyRules(at.of("podFailurePolicy"), s)
	}
	if s.SuccessPolicy != nil {
		successPolicyRules(at, s)
	}
	templateRules(at.of("template"), &s.Template, was)
	// The message for a policy that is missing was there before its enum.
	switch p, at := s.Template.Spec.RestartPolicy, at.of("template").of("spec").of("restartPolicy"); p {
	case "", corev1.RestartPolicyAlways:
		at.required(`valid values: "OnFailure", "Never"`)
	case corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
		if s.PodFailurePolicy != nil && p != corev1.RestartPolicyNever {
			at.invalid(p, "only \"Never\" is supported when podFailurePolicy is specified")
		}
	default:
		oneOf(at, p, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
	if p := s.PodReplacementPolicy; p != nil {
		if s.PodFailurePolicy != nil {
			oneOf(at.of("podReplacementPolicy"), *p, batchv1.Failed)
		} else {
			oneOf(at.of("podReplacementPolicy"), *p, batchv1.Failed, batchv1.TerminatingOrFailed)
		}
	}
}

const maxManagedBy = 63

func managedByRules(at *place, name string) {
	at.add(utilvalidation.IsDomainPrefixedPath(at.path(), name)...)
	if len(name) > maxManagedBy {
		at.tooLong(maxManagedBy)
	}
}

func completionRules(at *place, s *batchv1.JobSpec) {
	if s.CompletionMode != nil {
		oneOf(at.of("completionMode"), *s.CompletionMode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)
		if indexed(s) {
			indexedRules(at, s)
		}
	}
	if !indexed(s) {
		if s.BackoffLimitPerIndex != nil {
			at.of("backoffLimitPerIndex").invalid(*s.BackoffLimitPerIndex, "requires indexed completion mode")
		}
		if s.MaxFailedIndexes != nil {
			at.of("maxFailedIndexes").invalid(*s.MaxFailedIndexes, "requires indexed completion mode")
		}
	}
}

func indexedRules(at *place, s *batchv1.JobSpec) {
	if s.Completions == nil {
		at.of("completions").required("when completion mode is Indexed")
	}
	if s.Parallelism != nil && *s.Parallelism > maxIndexed {
		at.of("parallelism").invalid(*s.Parallelism, "must be less than or equal to 100000 when completion mode is Indexed")
	}
	if s.MaxFailedIndexes != nil && s.Completions != nil && *s.MaxFailedIndexes > *s.Completions {
		at.of("maxFailedIndexes").invalid(*s.MaxFailedIndexes, "must be less than or equal to completions")
	}
	if s.MaxFailedIndexes != nil && s.BackoffLimitPerIndex == nil {
		at.of("backoffLimitPerIndex").required("when maxFailedIndexes is specified")
	}
	if s.Completions == nil || *s.Completions <= manyIndexes || s.BackoffLimitPerIndex == nil {
		return
	}
	switch most := s.MaxFailedIndexes; {
	case most == nil:
		at.of("maxFailedIndexes").required(fmt.Sprintf("must be specified when completions is above %d", manyIndexes))
	default:
		if s.Parallelism != nil && *s.Parallelism > maxManyParallel {
			at.of("parallelism").invalid(*s.Parallelism,
				fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index", maxManyParallel, manyIndexes))
		}
		if *most > maxManyParallel {
			at.of("maxFailedIndexes").invalid(*most,
				fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index", maxManyParallel, manyIndexes))
		}
	}
}

// jobChanges: a job is what it is. While it does not run, its number of pods may
// change, and what helps to place them.
func jobChanges(at *place, is, was *batchv1.Job) {
	spec := at.of("spec")
	jobSpecRules(spec, &is.Spec, &was.Spec.Template)
	jobSelectorRules(spec, &is.Spec, was.Spec.Selector)
	completionsChange(spec.of("completions"), &is.Spec, &was.Spec)
	fixedWhole(spec.of("selector"), is.Spec.Selector, was.Spec.Selector)
	jobTemplateChange(spec.of("template"), is, was)
	fixed(spec.of("completionMode"), is.Spec.CompletionMode, was.Spec.CompletionMode)
	fixedWhole(spec.of("podFailurePolicy"), is.Spec.PodFailurePolicy, was.Spec.PodFailurePolicy)
	fixed(spec.of("backoffLimitPerIndex"), is.Spec.BackoffLimitPerIndex, was.Spec.BackoffLimitPerIndex)
	fixed(spec.of("managedBy"), is.Spec.ManagedBy, was.Spec.ManagedBy)
	fixedWhole(spec.of("successPolicy"), is.Spec.SuccessPolicy, was.Spec.SuccessPolicy)
}

// completionsChange lets numbered jobs grow, as long as they grow in both numbers.
func completionsChange(at *place, is, was *batchv1.JobSpec) {
	if !indexed(is) {
		fixed(at, is.Completions, was.Completions)
		return
	}
	if equality.Semantic.DeepEqual(is.Completions, was.Completions) {
		return
	}
	if is.Completions != nil && !equality.Semantic.DeepEqual(is.Completions, is.Parallelism) {
		at.invalid(*is.Completions, fmt.Sprintf("can only be modified in tandem with %s", "parallelism"))
	}
}

// jobTemplateChange: a job that never started may still be told where to run.
func jobTemplateChange(at *place, is, was *batchv1.Job) {
	now, before := is.Spec.Template, was.Spec.Template
	suspended := was.Spec.Suspend != nil && *was.Spec.Suspend
	if suspended && (was.Status.StartTime == nil || was.Status.Active == 0 && jobSuspended(&was.Status)) {
		before.Annotations, before.Labels = now.Annotations, now.Labels
		before.Spec.NodeSelector = now.Spec.NodeSelector
		before.Spec.Tolerations, before.Spec.SchedulingGates = now.Spec.Tolerations, now.Spec.SchedulingGates
		before.Spec.Affinity = placedAs(before.Spec.Affinity, now.Spec.Affinity)
		before.Spec.Containers = usingAs(before.Spec.Containers, now.Spec.Containers)
		before.Spec.InitContainers = usingAs(before.Spec.InitContainers, now.Spec.InitContainers)
	}
	fixedWhole(at, now, before)
}

func jobSuspended(s *batchv1.JobStatus) bool {
	return slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	})
}

// placedAs is an affinity with the choice of nodes of another.
func placedAs(a, other *corev1.Affinity) *corev1.Affinity {
	switch {
	case a == nil && other == nil:
		return nil
	case a == nil && other.PodAffinity == nil && other.PodAntiAffinity == nil:
		return other
	case other == nil && a.PodAffinity == nil && a.PodAntiAffinity == nil:
		return nil
	}
	placed := corev1.Affinity{}
	if a != nil {
		placed = *a
	}
	placed.NodeAffinity = nil
	if other != nil {
		placed.NodeAffinity = other.NodeAffinity
	}
	return &placed
}

// usingAs are containers with the resources of others, one by one.
func usingAs(list, other []corev1.Container) []corev1.Container {
	if len(list) != len(other) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Resources = other[i].Resources
	}
	return list
}
