package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

func jobRules(at *validation.Path, j *batchv1.Job) {
	generatedSelectorRules(at, j)
	fullJobSpecRules(at.Child("spec"), &j.Spec, nil)
	podNameRules(at, j)
}

// fullJobSpecRules validates the spec of a job. old is the spec of the stored job, or nil.
func fullJobSpecRules(at *validation.Path, s, old *batchv1.JobSpec) {
	if old == nil {
		jobSpecRules(at, s, nil)
		jobSelectorRules(at, s, nil)
		return
	}
	jobSpecRules(at, s, &old.Template)
	jobSelectorRules(at, s, old.Selector)
}

// podNameRules checks the pod names of an indexed job, which are the job's name and an
// index.
func podNameRules(at *validation.Path, j *batchv1.Job) {
	if !isIndexed(&j.Spec) || j.Spec.Completions == nil || *j.Spec.Completions <= 0 {
		return
	}
	last := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1)
	if len(validation.DNSLabel(last)) > 0 {
		at.Child("metadata").Child("name").Invalid(j.Name, "will not able to create pod with invalid DNS label: "+last)
	}
}

// generatedSelectorRules checks that the selector of a new job is the generated one, and that the
// pods have the labels which it selects.
func generatedSelectorRules(at *validation.Path, j *batchv1.Job) {
	if j.Spec.ManualSelector != nil && *j.Spec.ManualSelector || j.Spec.Selector == nil {
		return
	}
	if j.UID == "" {
		at.Child("metadata").Child("uid").Required("")
	}
	metadata := at.Child("spec").Child("template").Child("metadata")
	expected := labels.Set{}
	required := [][2]string{
		{"controller-uid", string(j.UID)}, {"job-name", j.Name},
		{batchv1.ControllerUidLabel, string(j.UID)}, {batchv1.JobNameLabel, j.Name},
	}
	for _, l := range required {
		expected[l[0]] = l[1]
		switch value, ok := j.Spec.Template.Labels[l[0]]; {
		case !ok:
			metadata.Child("labels").Key(l[0]).Required("must be '" + l[1] + "'")
		case value != l[1]:
			metadata.Child("labels").Key(l[0]).Invalid(j.Spec.Template.Labels, "must be '"+l[1]+"'")
		}
	}
	if s, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && !s.Matches(expected) {
		at.Child("spec").Child("selector").Invalid(j.Spec.Selector, "`selector` not auto-generated")
	}
}

// jobSelectorRules requires that the selector, generated or manual, matches the pods.
func jobSelectorRules(at *validation.Path, s *batchv1.JobSpec, old *metav1.LabelSelector) {
	if s.Selector == nil {
		at.Child("selector").Required("")
	} else {
		validation.LenientSelectorRules(at.Child("selector"), s.Selector, workload.HasInvalidSelectorValues(old))
	}
	if parsed, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil && !parsed.Matches(labels.Set(s.Template.Labels)) {
		at.Child("template").Child("metadata").Child("labels").Invalid(s.Template.Labels, workload.SelectorMismatch)
	}
}

func isIndexed(s *batchv1.JobSpec) bool {
	return s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion
}

// Limits of indexed jobs. maxManyParallel applies to jobs with backoffLimitPerIndex and more
// than maxIndexed completions.
const (
	maxIndexed      = 100000
	maxManyParallel = 10000
)

// jobSpecRules validates the spec of a job or of a job template. old is the stored pod
// template.
func jobSpecRules(at *validation.Path, s *batchv1.JobSpec, old *corev1.PodTemplateSpec) {
	validation.OptionalNonNegative(at.Child("parallelism"), s.Parallelism)
	validation.OptionalNonNegative(at.Child("completions"), s.Completions)
	validation.OptionalNonNegative(at.Child("activeDeadlineSeconds"), s.ActiveDeadlineSeconds)
	validation.OptionalNonNegative(at.Child("backoffLimit"), s.BackoffLimit)
	validation.OptionalNonNegative(at.Child("ttlSecondsAfterFinished"), s.TTLSecondsAfterFinished)
	validation.OptionalNonNegative(at.Child("backoffLimitPerIndex"), s.BackoffLimitPerIndex)
	validation.OptionalNonNegative(at.Child("maxFailedIndexes"), s.MaxFailedIndexes)
	if s.MaxFailedIndexes != nil && s.BackoffLimitPerIndex == nil {
		at.Child("backoffLimitPerIndex").Required("when maxFailedIndexes is specified")
	}
	if s.ManagedBy != nil {
		managedByRules(at.Child("managedBy"), *s.ManagedBy)
	}
	completionRules(at, s)
	if s.PodFailurePolicy != nil {
		failurePolicyRules(at.Child("podFailurePolicy"), s)
	}
	if s.SuccessPolicy != nil {
		successPolicyRules(at, s)
	}
	replacementRules(at.Child("podReplacementPolicy"), s)
	jobSchedulingRules(at.Child("scheduling"), s)
	pod.TemplateRules(at.Child("template"), &s.Template, old)
	// A missing policy has a message of its own in kube-apiserver.
	switch p, at := s.Template.Spec.RestartPolicy, at.Child("template").Child("spec").Child("restartPolicy"); p {
	case "", corev1.RestartPolicyAlways:
		at.Required(`valid values: "OnFailure", "Never"`)
	case corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
		if s.PodFailurePolicy != nil && p != corev1.RestartPolicyNever {
			at.Invalid(p, "only \"Never\" is supported when podFailurePolicy is specified")
		}
	default:
		validation.OneOf(at, p, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
}

// replacementRules requires the policy Failed for jobs with a pod failure policy, which
// must count a failed pod before it is replaced.
func replacementRules(at *validation.Path, s *batchv1.JobSpec) {
	switch p := s.PodReplacementPolicy; {
	case p == nil:
	case s.PodFailurePolicy != nil:
		validation.OneOf(at, *p, batchv1.Failed)
	default:
		validation.OneOf(at, *p, batchv1.Failed, batchv1.TerminatingOrFailed)
	}
}

const maxManagedBy = 63

func managedByRules(at *validation.Path, name string) {
	at.Add(utilvalidation.IsDomainPrefixedPath(at.ToField(), name)...)
	if len(name) > maxManagedBy {
		at.TooLong(maxManagedBy)
	}
}

func completionRules(at *validation.Path, s *batchv1.JobSpec) {
	if s.CompletionMode != nil {
		validation.OneOf(at.Child("completionMode"), *s.CompletionMode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)
		if isIndexed(s) {
			indexedRules(at, s)
		}
	}
	if s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion {
		if s.BackoffLimitPerIndex != nil {
			at.Child("backoffLimitPerIndex").Invalid(*s.BackoffLimitPerIndex, "requires indexed completion mode")
		}
		if s.MaxFailedIndexes != nil {
			at.Child("maxFailedIndexes").Invalid(*s.MaxFailedIndexes, "requires indexed completion mode")
		}
	}
}

func indexedRules(at *validation.Path, s *batchv1.JobSpec) {
	if s.Completions == nil {
		at.Child("completions").Required("when completion mode is Indexed")
	}
	if s.Parallelism != nil && *s.Parallelism > maxIndexed {
		at.Child("parallelism").Invalid(*s.Parallelism, "must be less than or equal to 100000 when completion mode is Indexed")
	}
	if s.MaxFailedIndexes != nil && s.Completions != nil && *s.MaxFailedIndexes > *s.Completions {
		at.Child("maxFailedIndexes").Invalid(*s.MaxFailedIndexes, "must be less than or equal to completions")
	}
	if s.MaxFailedIndexes != nil && *s.MaxFailedIndexes > maxIndexed {
		at.Child("maxFailedIndexes").Invalid(*s.MaxFailedIndexes, "must be less than or equal to 100000")
	}
	if s.Completions == nil || *s.Completions <= maxIndexed || s.BackoffLimitPerIndex == nil {
		return
	}
	if s.MaxFailedIndexes == nil {
		at.Child("maxFailedIndexes").Required(fmt.Sprintf("must be specified when completions is above %d", maxIndexed))
	}
	for _, f := range []struct {
		name  string
		value *int32
	}{{"parallelism", s.Parallelism}, {"maxFailedIndexes", s.MaxFailedIndexes}} {
		if f.value != nil && *f.value > maxManyParallel {
			at.Child(f.name).Invalid(*f.value,
				fmt.Sprintf("must be less than or equal to %d when completions are above %d and used with backoff limit per index",
					maxManyParallel, maxIndexed))
		}
	}
}
