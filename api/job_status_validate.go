package api

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// jobStatus is what the rules for a change of the status of a job look at.
// Most rules hold only where what they are about changes, so that a status that
// breaks one can still be written.
type jobStatus struct {
	is, was *batchv1.Job
	// s is the new status, at its field.
	s  *batchv1.JobStatus
	at *place
	// These report whether the new status has a condition.
	complete, failed, target, met bool
}

func jobStatusChanges(at *place, is, was *batchv1.Job) {
	s := &is.Status
	c := jobStatus{
		is: is, was: was, s: s, at: at.of("status"),
		complete: jobCondition(s, batchv1.JobComplete), failed: jobCondition(s, batchv1.JobFailed),
		target: jobCondition(s, batchv1.JobFailureTarget), met: jobCondition(s, batchv1.JobSuccessCriteriaMet),
	}
	c.counts()
	c.ends()
	c.indexes()
	c.pods()
	c.criteria()
	c.keeps()
}

// turned reports whether a condition became true or ceased to be.
func (c *jobStatus) turned(t batchv1.JobConditionType) bool {
	return jobCondition(&c.was.Status, t) != jobCondition(c.s, t)
}

func (c *jobStatus) finished() bool { return c.complete || c.failed }

// finishes reports whether the job became finished, or unfinished.
func (c *jobStatus) finishes() bool {
	was := &c.was.Status
	return c.finished() != (jobCondition(was, batchv1.JobComplete) || jobCondition(was, batchv1.JobFailed))
}

func (c *jobStatus) conditions(message string) {
	c.at.of("conditions").invalid(field.OmitValueType{}, message)
}

func (c *jobStatus) counts() {
	s, at := c.s, c.at
	countRules(at, count{"active", s.Active}, count{"succeeded", s.Succeeded}, count{"failed", s.Failed})
	optionalNonNegative(at.of("ready"), s.Ready)
	optionalNonNegative(at.of("terminating"), s.Terminating)
	u := s.UncountedTerminatedPods
	if u == nil {
		return
	}
	var seen unique[types.UID]
	each := func(at *place, list []types.UID) {
		for i, uid := range list {
			if uid == "" {
				at.item(i).invalid(uid, "must not be empty")
				continue
			}
			seen.add(at.item(i), uid)
		}
	}
	each(at.of("uncountedTerminatedPods").of("succeeded"), u.Succeeded)
	each(at.of("uncountedTerminatedPods").of("failed"), u.Failed)
}

// ends: a job ends once, in one way, and has times for it.
func (c *jobStatus) ends() {
	s, was := c.s, &c.was.Status
	completes, times := c.turned(batchv1.JobComplete), !s.CompletionTime.Equal(was.CompletionTime)
	if c.complete && c.failed && (completes || c.turned(batchv1.JobFailed)) {
		c.conditions("cannot set Complete=True and Failed=true conditions")
	}
	if c.complete && c.target && (completes || c.turned(batchv1.JobFailureTarget)) {
		c.conditions("cannot set Complete=True and FailureTarget=true conditions")
	}
	completion := c.at.of("completionTime")
	if completes || times {
		if s.CompletionTime != nil && !c.complete {
			completion.invalid(s.CompletionTime, "cannot set completionTime when there is no Complete=True condition")
		}
		if s.CompletionTime == nil && c.complete {
			completion.required("completionTime is required for Complete jobs")
		}
	}
	starts := !s.StartTime.Equal(was.StartTime)
	if (starts || times) && s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime) {
		completion.invalid(s.CompletionTime, "must be equal to or after `startTime`")
	}
	if c.failed && !c.target && (c.turned(batchv1.JobFailed) || c.failedIndexesChanged()) {
		c.conditions("cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if c.complete && !c.met && (completes || c.turned(batchv1.JobSuccessCriteriaMet)) {
		c.conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
	c.finishedRules(starts)
}

// finishedRules: a finished job has no pods left.
func (c *jobStatus) finishedRules(starts bool) {
	if !c.finished() {
		return
	}
	s, was, spec := c.s, &c.was.Status, &c.is.Spec
	if s.Active > 0 && (c.finishes() || s.Active != was.Active) {
		c.at.of("active").invalid(s.Active, "active>0 is invalid for finished job")
	}
	never := spec.Suspend != nil && *spec.Suspend && spec.Completions != nil && *spec.Completions == 0
	if s.StartTime == nil && !never && (c.finishes() || starts) {
		c.at.of("startTime").required("startTime is required for finished job")
	}
	if u := s.UncountedTerminatedPods; u != nil && len(u.Failed)+len(u.Succeeded) > 0 &&
		(c.finishes() || !equality.Semantic.DeepEqual(u, was.UncountedTerminatedPods)) {
		c.at.of("uncountedTerminatedPods").invalid(u, "must be empty for finished job")
	}
}

func (c *jobStatus) failedIndexesChanged() bool {
	return !equality.Semantic.DeepEqual(c.s.FailedIndexes, c.was.Status.FailedIndexes)
}

// indexes check the lists of the indexes that are done.
func (c *jobStatus) indexes() {
	s, spec := c.s, &c.is.Spec
	done, failed := s.CompletedIndexes != c.was.Status.CompletedIndexes, c.failedIndexesChanged()
	if done && spec.Completions != nil {
		if _, err := countIndexes(s.CompletedIndexes, *spec.Completions); err != nil {
			c.at.of("completedIndexes").invalid(s.CompletedIndexes, "error parsing completedIndexes: "+err.Error())
		}
	}
	if failed && spec.Completions != nil && spec.BackoffLimitPerIndex != nil && s.FailedIndexes != nil {
		if _, err := countIndexes(*s.FailedIndexes, *spec.Completions); err != nil {
			c.at.of("failedIndexes").invalid(*s.FailedIndexes, "error parsing failedIndexes: "+err.Error())
		}
	}
	if done && s.CompletedIndexes != "" && !indexed(spec) {
		c.at.of("completedIndexes").invalid(s.CompletedIndexes, "cannot set non-empty completedIndexes when non-indexed completion mode")
	}
	if failed && spec.BackoffLimitPerIndex == nil && s.FailedIndexes != nil {
		c.at.of("failedIndexes").invalid(*s.FailedIndexes, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
	}
	if (failed || done) && spec.Completions != nil && s.FailedIndexes != nil {
		if i, ok := indexOverlap(s.CompletedIndexes, *s.FailedIndexes, *spec.Completions); ok {
			c.at.of("failedIndexes").invalid(*s.FailedIndexes, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", i))
		}
	}
}

// indexOverlap returns the first index in both lists, which are in order. Parts that
// cannot be parsed are passed over: other rules refuse them.
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

func (c *jobStatus) pods() {
	s, was := c.s, &c.was.Status
	if t := s.Terminating; c.finished() && t != nil && *t > 0 &&
		(c.finishes() || !equality.Semantic.DeepEqual(t, was.Terminating)) {
		c.at.of("terminating").invalid(*t, "terminating>0 is invalid for finished job")
	}
	if s.Ready != nil && *s.Ready > s.Active && (s.Active != was.Active || !equality.Semantic.DeepEqual(s.Ready, was.Ready)) {
		c.at.of("ready").invalid(*s.Ready, "cannot set more ready pods than active")
	}
}

// criteria check the condition that a job has succeeded early.
func (c *jobStatus) criteria() {
	if c.met && c.failed {
		c.conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
	}
	if c.met && c.target {
		c.conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	}
	if c.is.Spec.SuccessPolicy != nil && !c.met && c.complete {
		c.conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	}
}

// keeps check what never goes back.
func (c *jobStatus) keeps() {
	s, was, spec := c.s, &c.was.Status, &c.is.Spec
	for _, t := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if jobCondition(was, t) && !jobCondition(s, t) {
			c.conditions(fmt.Sprintf("cannot disable the terminal %s=True condition", t))
		}
	}
	if s.Failed < was.Failed {
		c.at.of("failed").invalid(s.Failed, "cannot decrease the failed counter")
	}
	// A job whose numbers change together may shrink.
	elastic := indexed(spec) && equality.Semantic.DeepEqual(spec.Completions, spec.Parallelism)
	if s.Succeeded < was.Succeeded && !elastic {
		c.at.of("succeeded").invalid(s.Succeeded, "cannot decrease the succeeded counter")
	}
	changed := func(is, was *metav1.Time) bool { return was != nil && !is.Equal(was) }
	if s.CompletionTime != nil && changed(s.CompletionTime, was.CompletionTime) {
		c.at.of("completionTime").invalid(s.CompletionTime, "field is immutable")
	}
	suspended := spec.Suspend != nil && *spec.Suspend
	if changed(s.StartTime, was.StartTime) && !suspended && !c.resumes() {
		c.at.of("startTime").invalid(s.StartTime, "field is immutable for unsuspended job once set")
	}
	met := jobCondition(was, batchv1.JobSuccessCriteriaMet)
	if met && !c.met {
		c.conditions("cannot disable the SuccessCriteriaMet=True condition")
	}
	if jobCondition(was, batchv1.JobComplete) && !met && c.met {
		c.conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
	}
}

// resumes reports whether the job ceases to be suspended.
func (c *jobStatus) resumes() bool {
	if !jobCondition(&c.was.Status, batchv1.JobSuspended) {
		return false
	}
	for _, condition := range c.s.Conditions {
		if condition.Type == batchv1.JobSuspended && condition.Status == corev1.ConditionFalse {
			return true
		}
	}
	return false
}
