package api

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

func jobColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Status", "Status of the job."),
		textColumn("Completions", doc(batchv1.JobStatus{}, "succeeded")),
		textColumn("Duration", "Time required to complete the job."),
		ageColumn(),
		wide(containersColumn()),
		wide(imagesColumn()),
		wide(textColumn("Selector", doc(batchv1.JobSpec{}, "selector"))),
	}
}

func jobCells(obj Object) []any {
	j := obj.(*batchv1.Job)
	took := any("")
	switch start, end := j.Status.StartTime, j.Status.CompletionTime; {
	case start == nil:
	case end == nil:
		took = Elapsed{Since: start.Time}
	default:
		took = duration.HumanDuration(end.Sub(start.Time))
	}
	names, images := containerCells(j.Spec.Template.Spec.Containers)
	return []any{
		j.Name, jobState(j), completionsCell(j), took, Age(j),
		names, images, metav1.FormatLabelSelector(j.Spec.Selector),
	}
}

// jobState is the first of these that holds.
func jobState(j *batchv1.Job) string {
	is := func(t batchv1.JobConditionType) bool {
		for _, c := range j.Status.Conditions {
			if c.Type == t {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case is(batchv1.JobSuspended):
		return "Suspended"
	case is(batchv1.JobFailureTarget):
		return "FailureTarget"
	}
	return "Running"
}

// completionsCell compares what succeeded with what has to. Where one success
// ends the job, it says how many pods are trying.
func completionsCell(j *batchv1.Job) string {
	if n := j.Spec.Completions; n != nil {
		return ratio(j.Status.Succeeded, *n)
	}
	text := ratio(j.Status.Succeeded, 1)
	if n := orEmpty(j.Spec.Parallelism); n > 1 {
		text += " of " + strconv.Itoa(int(n))
	}
	return text
}
