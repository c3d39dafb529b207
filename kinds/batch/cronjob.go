package batch

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata"

	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// CronJob describes the kind CronJob, which creates jobs on a schedule.
func CronJob(gates features.Gates) *api.Resource {
	return api.NewResource(pod.WithPodTemplate(gates, cronJobTemplate, api.Kind[*batchv1.CronJob]{
		Names: api.Names{
			Name: "cronjobs", Singular: "cronjob", Kind: "CronJob",
			ShortNames: []string{"cj"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions: api.WithOlderVersions(api.Served(batchv1.SchemeGroupVersion),
			api.SameFields[batchv1.CronJob, batchv1beta1.CronJob](batchv1beta1.SchemeGroupVersion)),
		Default: defaultCronJob,
		Storage: api.Storage{Prefix: "cronjobs"},
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(newCronJobRules)),
			api.Changes(cronJobChanges),
			api.Declared,
			api.WarnOfChange(cronJobWarnings(gates)),
		),
		HasGeneration: true,
		Status:        api.NewStatus[*batchv1.CronJob](nil, api.Declared),
		Table:         api.Rows(cronJobRow),
	}))
}

func cronJobTemplate(obj *batchv1.CronJob) *corev1.PodTemplateSpec {
	return &obj.Spec.JobTemplate.Spec.Template
}

func defaultCronJob(obj *batchv1.CronJob) {
	s := &obj.Spec
	pod.DefaultTemplate(&s.JobTemplate.Spec.Template)
	defaultFailurePolicy(s.JobTemplate.Spec.PodFailurePolicy)
	if s.ConcurrencyPolicy == "" {
		s.ConcurrencyPolicy = batchv1.AllowConcurrent
	}
	api.SetDefault(&s.Suspend, false)
	api.SetDefault(&s.SuccessfulJobsHistoryLimit, 3)
	api.SetDefault(&s.FailedJobsHistoryLimit, 1)
}

func cronJobRow(row *table.Row, c *batchv1.CronJob) {
	zone, suspended, last := table.CellNone, table.CellUnset, any(table.CellNone)
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
	}
	if s := c.Spec.Suspend; s != nil {
		// kube-apiserver prints a string, though the type of the column is boolean.
		suspended = map[bool]string{true: "True", false: "False"}[*s]
	}
	if at := c.Status.LastScheduleTime; at != nil {
		last = table.Elapsed{Since: at.Time}
	}
	job := &c.Spec.JobTemplate.Spec
	row.Name(c.Name)
	row.Text("Schedule", ".spec.schedule", c.Spec.Schedule)
	row.Text("Timezone", ".spec.timeZone", zone)
	row.Bool("Suspend", ".spec.suspend", suspended)
	row.Number("Active", ".status.active", int64(len(c.Status.Active)))
	row.Text("Last Schedule", ".status.lastScheduleTime", last)
	row.Age(c)
	row.Wide().Containers(job.Template.Spec.Containers)
	row.Wide().Text("Selector", ".spec.jobTemplate.spec.selector", metav1.FormatLabelSelector(job.Selector))
}

// maxCronJobName leaves room for the suffix of eleven characters in the names of its jobs.
const maxCronJobName = 52

func newCronJobRules(at *validation.Path, c *batchv1.CronJob) {
	cronJobSpecRules(at.Child("spec"), &c.Spec, nil)
	if len(c.Name) > maxCronJobName {
		at.Child("metadata").Child("name").Invalid(c.Name, "must be no more than 52 characters")
	}
}

func cronJobChanges(at *validation.Path, obj, old *batchv1.CronJob) {
	cronJobSpecRules(at.Child("spec"), &obj.Spec, &old.Spec)
}

func cronJobSpecRules(at *validation.Path, s, old *batchv1.CronJobSpec) {
	if validation.Required(at.Child("schedule"), s.Schedule) {
		scheduleRules(at.Child("schedule"), s, old)
	}
	validation.OptionalNonNegative(at.Child("startingDeadlineSeconds"), s.StartingDeadlineSeconds)
	if s.TimeZone != nil && (old == nil || !equality.Semantic.DeepEqual(s.TimeZone, old.TimeZone)) {
		timeZone(at.Child("timeZone"), *s.TimeZone)
	}
	validation.Enum(at.Child("concurrencyPolicy"), s.ConcurrencyPolicy, batchv1.AllowConcurrent, batchv1.ForbidConcurrent,
		batchv1.ReplaceConcurrent)
	job, spec := &s.JobTemplate.Spec, at.Child("jobTemplate").Child("spec")
	if old == nil {
		jobSpecRules(spec, job, nil)
	} else {
		jobSpecRules(spec, job, &old.JobTemplate.Spec.Template)
	}
	if job.Selector != nil {
		spec.Child("selector").Invalid(job.Selector, "`selector` will be auto-generated")
	}
	if job.ManualSelector != nil && *job.ManualSelector {
		manual := spec.Child("manualSelector").ToField()
		at.Add(field.NotSupported(manual, true, []string{"nil", "false"}))
	}
	validation.OptionalNonNegative(at.Child("successfulJobsHistoryLimit"), s.SuccessfulJobsHistoryLimit)
	validation.OptionalNonNegative(at.Child("failedJobsHistoryLimit"), s.FailedJobsHistoryLimit)
}

func scheduleRules(at *validation.Path, s, old *batchv1.CronJobSpec) {
	if err := parseSchedule(s.Schedule); err != nil {
		at.Invalid(s.Schedule, err.Error())
	}
	// The schedule may contain a time zone only if the stored one does.
	allowed := old != nil && strings.Contains(old.Schedule, "TZ")
	switch {
	case !strings.Contains(s.Schedule, "TZ"):
	case !allowed:
		at.Invalid(s.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
	case s.TimeZone != nil:
		at.Invalid(s.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
	}
}

// maxZonePart is the maximum length of a part of a time zone name.
const maxZonePart = 14

func timeZone(at *validation.Path, name string) {
	if name == "" {
		at.Invalid(name, "timeZone must be nil or non-empty string")
		return
	}
	for _, part := range strings.Split(name, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !isZonePart(part) {
			at.Invalid(name, fmt.Sprintf("unknown time zone %s", name))
			return
		}
	}
	if strings.EqualFold(name, "Local") {
		at.Invalid(name, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	}
	if _, err := time.LoadLocation(name); err != nil {
		at.Invalid(name, err.Error())
	}
}

func isZonePart(part string) bool {
	if part == "" || len(part) > maxZonePart {
		return false
	}
	return !strings.ContainsFunc(part, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_+", r))
	})
}

func cronJobWarnings(gates features.Gates) func(c, old *batchv1.CronJob) []string {
	return func(c, old *batchv1.CronJob) []string {
		return validation.Warn(func(at *validation.Path) {
			if old == nil {
				pod.HostnameWarning(at, c.Name, pod.NameUse)
			}
			if api.SpecChanged(c, old) {
				jobSpecWarnings(at.Child("spec").Child("jobTemplate").Child("spec"), &c.Spec.JobTemplate.Spec, gates)
			}
			if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
				at.Warnings([]string{"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"})
			}
		})
	}
}
