package api

import (
	"fmt"
	"strings"
	"time"
	// Time zones are the same on every machine, and are read when one is named.
	_ "time/tzdata"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxCronJobName leaves room for the eleven characters that the names of its
// jobs add.
const maxCronJobName = 52

func newCronJobRules(at *place, c *batchv1.CronJob) {
	cronJobSpecRules(at.of("spec"), &c.Spec, nil)
	if len(c.Name) > maxCronJobName {
		at.of("metadata").of("name").invalid(c.Name, "must be no more than 52 characters")
	}
}

func cronJobChanges(at *place, is, was *batchv1.CronJob) {
	cronJobSpecRules(at.of("spec"), &is.Spec, &was.Spec)
}

func cronJobSpecRules(at *place, s, was *batchv1.CronJobSpec) {
	if required(at.of("schedule"), s.Schedule) {
		scheduleRules(at.of("schedule"), s, was)
	}
	optionalNonNegative(at.of("startingDeadlineSeconds"), s.StartingDeadlineSeconds)
	if s.TimeZone != nil && (was == nil || !equality.Semantic.DeepEqual(s.TimeZone, was.TimeZone)) {
		timeZone(at.of("timeZone"), *s.TimeZone)
	}
	enum(at.of("concurrencyPolicy"), s.ConcurrencyPolicy, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)
	job, spec := &s.JobTemplate.Spec, at.of("jobTemplate").of("spec")
	if was == nil {
		jobSpecRules(spec, job, nil)
	} else {
		jobSpecRules(spec, job, &was.JobTemplate.Spec.Template)
	}
	if job.Selector != nil {
		spec.of("selector").invalid(job.Selector, "`selector` will be auto-generated")
	}
	if job.ManualSelector != nil && *job.ManualSelector {
		manual := spec.of("manualSelector").path()
		at.add(field.NotSupported(manual, true, []string{"nil", "false"}))
	}
	optionalNonNegative(at.of("successfulJobsHistoryLimit"), s.SuccessfulJobsHistoryLimit)
	optionalNonNegative(at.of("failedJobsHistoryLimit"), s.FailedJobsHistoryLimit)
}

func scheduleRules(at *place, s, was *batchv1.CronJobSpec) {
	if err := parseSchedule(s.Schedule); err != nil {
		at.invalid(s.Schedule, err.Error())
	}
	// A time zone stands in a field of its own, except where it never did.
	allowed := was != nil && strings.Contains(was.Schedule, "TZ")
	switch {
	case !strings.Contains(s.Schedule, "TZ"):
	case !allowed:
		at.invalid(s.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
	case s.TimeZone != nil:
		at.invalid(s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
	}
}

// maxZonePart is the longest part of the name of a zone.
const maxZonePart = 14

func timeZone(at *place, name string) {
	if name == "" {
		at.invalid(name, "timeZone must be nil or non-empty string")
		return
	}
	for _, part := range strings.Split(name, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart(part) {
			at.invalid(name, fmt.Sprintf("unknown time zone %s", name))
			return
		}
	}
	if strings.EqualFold(name, "Local") {
		at.invalid(name, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	}
	if _, err := time.LoadLocation(name); err != nil {
		at.invalid(name, err.Error())
	}
}

func zonePart(part string) bool {
	if part == "" || len(part) > maxZonePart {
		return false
	}
	return !strings.ContainsFunc(part, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_+", r))
	})
}
