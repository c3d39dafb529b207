package batch

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// jobStatusCheck validates a change of the status of a job. Most rules apply only if the
// fields to which they refer change, so that an invalid stored status can be updated.
type jobStatusCheck struct {
	obj, old *batchv1.Job
	// s is the new status, and at is its path.
	s  *batchv1.JobStatus
	at *validation.Path
	// These report whether the new status has a condition.
	complete, failed, target, met bool
}

func jobStatusChanges(at *validation.Path, obj, old *batchv1.Job) {
	s := &obj.Status
	c := jobStatusCheck{
		obj: obj, old: old, s: s, at: at.Child("status"),
		complete: jobCondition(s, batchv1.JobComplete), failed: jobCondition(s, batchv1.JobFailed),
		target: jobCondition(s, batchv1.JobFailureTarget), met: jobCondition(s, batchv1.JobSuccessCriteriaMet),
	}
	c.countRules()
	c.endRules()
	c.indexRules()
	c.podCountRules()
	c.successCriteriaRules()
	c.monotonicRules()
}

// conditionChanged reports whether a condition became true or is no longer true.
func (c *jobStatusCheck) conditionChanged(t batchv1.JobConditionType) bool {
	return jobCondition(&c.old.Status, t) != jobCondition(c.s, t)
}

func (c *jobStatusCheck) finished() bool { return c.complete || c.failed }

// finishedChanged reports whether the job became finished, or unfinished.
func (c *jobStatusCheck) finishedChanged() bool {
	old := &c.old.Status
	return c.finished() != (jobCondition(old, batchv1.JobComplete) || jobCondition(old, batchv1.JobFailed))
}

func (c *jobStatusCheck) refuseConditions(message string) {
	c.at.Child("conditions").Invalid(field.OmitValueType{}, message)
}

func (c *jobStatusCheck) countRules() {
	s, at := c.s, c.at
	workload.NonNegativeCounts(at, workload.PodCount{Name: "active", Value: s.Active},
		workload.PodCount{Name: "succeeded", Value: s.Succeeded}, workload.PodCount{Name: "failed", Value: s.Failed})
	validation.OptionalNonNegative(at.Child("ready"), s.Ready)
	validation.OptionalNonNegative(at.Child("terminating"), s.Terminating)
	u := s.UncountedTerminatedPods
	if u == nil {
		return
	}
	var seen validation.Unique[types.UID]
	each := func(at *validation.Path, list []types.UID) {
		for i, uid := range list {
			if uid == "" {
				at.Index(i).Invalid(uid, "must not be empty")
				continue
			}
			seen.Add(at.Index(i), uid)
		}
	}
	each(at.Child("uncountedTerminatedPods").Child("succeeded"), u.Succeeded)
	each(at.Child("uncountedTerminatedPods").Child("failed"), u.Failed)
}

// endRules validates the conditions and the times of a job that ends.
func (c *jobStatusCheck) endRules() {
	s, old := c.s, &c.old.Status
	completes, times := c.conditionChanged(batchv1.JobComplete), !s.CompletionTime.Equal(old.CompletionTime)
	if c.complete && c.failed && (completes || c.conditionChanged(batchv1.JobFailed)) {
		c.refuseConditions("cannot set Complete=True and Failed=true conditions")
	}
	if c.complete && c.target && (completes || c.conditionChanged(batchv1.JobFailureTarget)) {
		c.refuseConditions("cannot set Complete=True and FailureTarget=true conditions")
	}
	completion := c.at.Child("completionTime")
	if completes || times {
		if s.CompletionTime != nil && !c.complete {
			completion.Invalid(s.CompletionTime, "cannot set completionTime when there is no Complete=True condition")
		}
		if s.CompletionTime == nil && c.complete {
			completion.Required("completionTime is required for Complete jobs")
		}
	}
	starts := !s.StartTime.Equal(old.StartTime)
	if (starts || times) && s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime) {
		completion.Invalid(s.CompletionTime, "must be equal to or after `startTime`")
	}
	if c.failed && !c.target && (c.conditionChanged(batchv1.JobFailed) || c.failedIndexesChanged()) {
		c.refuseConditions("cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if c.complete && !c.met && (completes || c.conditionChanged(batchv1.JobSuccessCriteriaMet)) {
		c.refuseConditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
	c.finishedRules(starts)
}

// finishedRules requires that a finished job has no active or uncounted pods.
func (c *jobStatusCheck) finishedRules(starts bool) {
	if !c.finished() {
		return
	}
	s, old, spec := c.s, &c.old.Status, &c.obj.Spec
	if s.Active > 0 && (c.finishedChanged() || s.Active != old.Active) {
		c.at.Child("active").Invalid(s.Active, "active>0 is invalid for finished job")
	}
	never := spec.Suspend != nil && *spec.Suspend && spec.Completions != nil && *spec.Completions == 0
	if s.StartTime == nil && !never && (c.finishedChanged() || starts) {
		c.at.Child("startTime").Required("startTime is required for finished job")
	}
	if u := s.UncountedTerminatedPods; u != nil && len(u.Failed)+len(u.Succeeded) > 0 &&
		(c.finishedChanged() || !equality.Semantic.DeepEqual(u, old.UncountedTerminatedPods)) {
		c.at.Child("uncountedTerminatedPods").Invalid(u, "must be empty for finished job")
	}
}

func (c *jobStatusCheck) failedIndexesChanged() bool {
	return !equality.Semantic.DeepEqual(c.s.FailedIndexes, c.old.Status.FailedIndexes)
}

// indexRules validates the lists of completed and failed indexes.
func (c *jobStatusCheck) indexRules() {
	s, spec := c.s, &c.obj.Spec
	done, failed := s.CompletedIndexes != c.old.Status.CompletedIndexes, c.failedIndexesChanged()
	if done && spec.Completions != nil {
		if _, err := countIndexes(s.CompletedIndexes, *spec.Completions); err != nil {
			c.at.Child("completedIndexes").Invalid(s.CompletedIndexes, "error parsing completedIndexes: "+err.Error())
		}
	}
	if failed && spec.Completions != nil && spec.BackoffLimitPerIndex != nil && s.FailedIndexes != nil {
		if _, err := countIndexes(*s.FailedIndexes, *spec.Completions); err != nil {
			c.at.Child("failedIndexes").Invalid(*s.FailedIndexes, "error parsing failedIndexes: "+err.Error())
		}
	}
	if done && s.CompletedIndexes != "" && !isIndexed(spec) {
		c.at.Child("completedIndexes").Invalid(s.CompletedIndexes, "cannot set non-empty completedIndexes when non-indexed completion mode")
	}
	if failed && spec.BackoffLimitPerIndex == nil && s.FailedIndexes != nil {
		c.at.Child("failedIndexes").Invalid(*s.FailedIndexes, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
	}
	if (failed || done) && spec.Completions != nil && s.FailedIndexes != nil {
		if i, ok := indexOverlap(s.CompletedIndexes, *s.FailedIndexes, *spec.Completions); ok {
			c.at.Child("failedIndexes").Invalid(*s.FailedIndexes, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", i))
		}
	}
}

// indexOverlap returns the first index in both sorted lists. It skips parts that cannot be
// parsed: other rules refuse them.
func indexOverlap(a, b string, completions int32) (int32, bool) {
	x, y := intervals(a, completions), intervals(b, completions)
	for len(x) > 0 && len(y) > 0 {
		if first := max(x[0][0], y[0][0]); first <= min(x[0][1], y[0][1]) {
			return first, true
		}
		if x[0][0] <= y[0][0] {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return 0, false
}

func intervals(list string, completions int32) (found [][2]int32) {
	if list == "" {
		return nil
	}
	for part := range strings.SplitSeq(list, ",") {
		if first, last, err := parseInterval(part, completions); err == nil {
			found = append(found, [2]int32{first, last})
		}
	}
	return found
}

func (c *jobStatusCheck) podCountRules() {
	s, old := c.s, &c.old.Status
	if t := s.Terminating; c.finished() && t != nil && *t > 0 &&
		(c.finishedChanged() || !equality.Semantic.DeepEqual(t, old.Terminating)) {
		c.at.Child("terminating").Invalid(*t, "terminating>0 is invalid for finished job")
	}
	if s.Ready != nil && *s.Ready > s.Active && (s.Active != old.Active || !equality.Semantic.DeepEqual(s.Ready, old.Ready)) {
		c.at.Child("ready").Invalid(*s.Ready, "cannot set more ready pods than active")
	}
}

// successCriteriaRules validates the condition SuccessCriteriaMet.
func (c *jobStatusCheck) successCriteriaRules() {
	if c.met && c.failed {
		c.refuseConditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
	}
	if c.met && c.target {
		c.refuseConditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	}
	if c.obj.Spec.SuccessPolicy != nil && !c.met && c.complete {
		c.refuseConditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	}
}

// monotonicRules checks the fields that may not decrease or be removed.
func (c *jobStatusCheck) monotonicRules() {
	s, old, spec := c.s, &c.old.Status, &c.obj.Spec
	for _, t := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if jobCondition(old, t) && !jobCondition(s, t) {
			c.refuseConditions(fmt.Sprintf("cannot disable the terminal %s=True condition", t))
		}
	}
	if s.Failed < old.Failed {
		c.at.Child("failed").Invalid(s.Failed, "cannot decrease the failed counter")
	}
	// An elastic indexed job may shrink.
	elastic := isIndexed(spec) && equality.Semantic.DeepEqual(spec.Completions, spec.Parallelism)
	if s.Succeeded < old.Succeeded && !elastic {
		c.at.Child("succeeded").Invalid(s.Succeeded, "cannot decrease the succeeded counter")
	}
	changed := func(obj, old *metav1.Time) bool { return old != nil && !obj.Equal(old) }
	if s.CompletionTime != nil && changed(s.CompletionTime, old.CompletionTime) {
		c.at.Child("completionTime").Invalid(s.CompletionTime, "field is immutable")
	}
	suspended := spec.Suspend != nil && *spec.Suspend
	if changed(s.StartTime, old.StartTime) && !suspended && !c.resumes() {
		c.at.Child("startTime").Invalid(s.StartTime, "field is immutable for unsuspended job once set")
	}
	met := jobCondition(old, batchv1.JobSuccessCriteriaMet)
	if met && !c.met {
		c.refuseConditions("cannot disable the SuccessCriteriaMet=True condition")
	}
	if jobCondition(old, batchv1.JobComplete) && !met && c.met {
		c.refuseConditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
	}
}

// resumes reports whether the job is no longer suspended.
func (c *jobStatusCheck) resumes() bool {
	if !jobCondition(&c.old.Status, batchv1.JobSuspended) {
		return false
	}
	for _, condition := range c.s.Conditions {
		if condition.Type == batchv1.JobSuspended && condition.Status == corev1.ConditionFalse {
			return true
		}
	}
	return false
}
