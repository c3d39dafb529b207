package api

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

func jobRules(at *place, j *batchv1.Job) {
	generatedSelectorRules(at, j, true)
	wholeJobSpecRules(at.of("spec"), &j.Spec, nil)
	podNameRules(at, j)
}

// wholeJobSpecRules check the spec of a job. was is the spec of the stored job,
// or nil.
func wholeJobSpecRules(at *place, s, was *batchv1.JobSpec) {
	if was == nil {
		jobSpecRules(at, s, nil)
		jobSelectorRules(at, s, nil)
		return
	}
	jobSpecRules(at, s, &was.Template)
	jobSelectorRules(at, s, was.Selector)
}

// podNameRules: the pods of an indexed job are named after the job and their
// index.
func podNameRules(at *place, j *batchv1.Job) {
	if !indexed(&j.Spec) || j.Spec.Completions == nil || *j.Spec.Completions <= 0 {
		return
	}
	last := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1)
	if len(dnsLabel(last)) > 0 {
		at.of("metadata").of("name").invalid(j.Name, "will not able to create pod with invalid DNS label: "+last)
	}
}

// generatedSelectorRules check that a selector which the server made is still
// the server's, and that the pods have the labels which it selects. prefixed
// reports whether the labels with a prefix, which old jobs lack, are required.
func generatedSelectorRules(at *place, j *batchv1.Job, prefixed bool) {
	if j.Spec.ManualSelector != nil && *j.Spec.ManualSelector || j.Spec.Selector == nil {
		return
	}
	if j.UID == "" {
		at.of("metadata").of("uid").required("")
	}
	metadata := at.of("spec").of("template").of("metadata")
	expected := labels.Set{}
	required := [][2]string{
		{"controller-uid", string(j.UID)}, {"job-name", j.Name},
		{batchv1.ControllerUidLabel, string(j.UID)}, {batchv1.JobNameLabel, j.Name},
	}
	if !prefixed {
		required = required[:2]
	}
	for _, l := range required {
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
	optionalNonNegative(at.of("backoffLimitPerIndex"), s.BackoffLimitPerIndex)
	optionalNonNegative(at.of("maxFailedIndexes"), s.MaxFailedIndexes)
	if s.MaxFailedIndexes != nil && s.BackoffLimitPerIndex == nil {
		at.of("backoffLimitPerIndex").required("when maxFailedIndexes is specified")
	}
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
	replacementRules(at.of("podReplacementPolicy"), s)
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
}

// replacementRules: a failed pod is counted before it is replaced where a policy
// looks at failures.
func replacementRules(at *place, s *batchv1.JobSpec) {
	switch p := s.PodReplacementPolicy; {
	case p == nil:
	case s.PodFailurePolicy != nil:
		oneOf(at, *p, batchv1.Failed)
	default:
		oneOf(at, *p, batchv1.Failed, batchv1.TerminatingOrFailed)
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
	if s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion {
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
	if s.MaxFailedIndexes != nil && *s.MaxFailedIndexes > maxIndexed {
		at.of("maxFailedIndexes").invalid(*s.MaxFailedIndexes, "must be less than or equal to 100000")
	}
	if s.Completions == nil || *s.Completions <= manyIndexes || s.BackoffLimitPerIndex == nil {
		return
	}
	if s.MaxFailedIndexes == nil {
		at.of("maxFailedIndexes").required(fmt.Sprintf("must be specified when completions is above %d", manyIndexes))
	}
	for _, f := range []struct {
		name  string
		value *int32
	}{{"parallelism", s.Parallelism}, {"maxFailedIndexes", s.MaxFailedIndexes}} {
		if f.value != nil && *f.value > maxManyParallel {
			at.of(f.name).invalid(*f.value,
				fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index", maxManyParallel, manyIndexes))
		}
	}
}
