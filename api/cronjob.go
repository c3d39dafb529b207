package api

import (
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// cronJob is jobs that are made at certain times.
func cronJob() *Resource {
	return withPodTemplate(cronJobTemplate, &Resource{
		Name: "cronjobs", Singular: "cronjob", Kind: "CronJob",
		ShortNames:     []string{"cj"},
		Categories:     []string{"all"},
		Namespaced:     true,
		Versions:       older(served(batchv1.SchemeGroupVersion), alike[batchv1.CronJob, batchv1beta1.CronJob](batchv1beta1.SchemeGroupVersion)),
		New:            func() Object { return &batchv1.CronJob{} },
		ObjectWarnings: cronJobWarnings,
		Rows:           &Table{Columns: cronJobColumns, Cells: cronJobCells},
		Prefix:         "cronjobs",
		Generation:     true,
		HasStatus:      true,
		Default:        defaultCronJob,
		Validate:       rulesOf(newCronJobRules),
		ValidateUpdate: changesOf(cronJobChanges),
		WholeUpdate:    true,
	})
}

func cronJobTemplate(obj Object) *corev1.PodTemplateSpec {
	return &obj.(*batchv1.CronJob).Spec.JobTemplate.Spec.Template
}

func defaultCronJob(obj Object) {
	s := &obj.(*batchv1.CronJob).Spec
	defaultTemplate(&s.JobTemplate.Spec.Template)
	if s.ConcurrencyPolicy == "" {
		s.ConcurrencyPolicy = batchv1.AllowConcurrent
	}
	setDefault(&s.Suspend, false)
	setDefault(&s.SuccessfulJobsHistoryLimit, 3)
	setDefault(&s.FailedJobsHistoryLimit, 1)
}
