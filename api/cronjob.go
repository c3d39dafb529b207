package api

import (
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// cronJob is jobs that are made at certain times.
func cronJob() *Resource {
	return &Resource{
		Name: "cronjobs", Singular: "cronjob", Kind: "CronJob",
		ShortNames: []string{"cj"},
		Categories: []string{"all"},
		Namespaced: true,
		Versions:   readable(served(batchv1.SchemeGroupVersion), batchv1beta1.SchemeGroupVersion),
		New:        func() Object { return &batchv1.CronJob{} },
		Prefix:     "cronjobs",
		Generation: true,
		HasStatus:  true,
		Default:    defaultCronJob,
		Validate:   validateCronJob,
	}
}

// maxCronJobName leaves room for the eleven characters that the names of its
// jobs add.
const maxCronJobName = 52

func validateCronJob(obj Object) field.ErrorList {
	if len(obj.GetName()) <= maxCronJobName {
		return nil
	}
	return field.ErrorList{field.Invalid(metadataPath().Child("name"), obj.GetName(), "must be no more than 52 characters")}
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
