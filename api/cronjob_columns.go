package api

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func cronJobColumns() []metav1.TableColumnDefinition {
	spec, status := batchv1.CronJobSpec{}, batchv1.CronJobStatus{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Schedule", doc(spec, "schedule")),
		textColumn("Timezone", doc(spec, "timeZone")),
		boolColumn("Suspend", doc(spec, "suspend")),
		numberColumn("Active", doc(status, "active")),
		textColumn("Last Schedule", doc(status, "lastScheduleTime")),
		ageColumn(),
		wide(containersColumn()),
		wide(imagesColumn()),
		wide(textColumn("Selector", doc(batchv1.JobSpec{}, "selector"))),
	}
}

func cronJobCells(obj Object) []any {
	c := obj.(*batchv1.CronJob)
	zone, suspended, last := cellNone, cellUnset, any(cellNone)
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
	}
	if s := c.Spec.Suspend; s != nil {
		// The words of a text, though the column is one of booleans.
		suspended = map[bool]string{true: "True", false: "False"}[*s]
	}
	if at := c.Status.LastScheduleTime; at != nil {
		last = Elapsed{Since: at.Time}
	}
	job := &c.Spec.JobTemplate.Spec
	names, images := containerCells(job.Template.Spec.Containers)
	return []any{
		c.Name, c.Spec.Schedule, zone, suspended, int64(len(c.Status.Active)), last, Age(c),
		names, images, metav1.FormatLabelSelector(job.Selector),
	}
}
