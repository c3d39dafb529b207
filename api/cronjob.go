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
		Default:    func(obj Object) { defaultTemplate(&obj.(*batchv1.CronJob).Spec.JobTemplate.Spec.Template) },
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
