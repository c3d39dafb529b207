package batch_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const cronJob = `spec:
  schedule: '*/5 1-3,7 * jan mon'
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: 'i:1'}]`

func TestCronJobRules(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).Create(kindtest.Rules{
		{"schedule", "spec.schedule: '@daily'", `spec.schedule: ""`, "spec.schedule: Required value"},
		{"fields of a schedule", "spec.schedule: '0 0 1 1 0'", "spec.schedule: '0 0 1 1'",
			`spec.schedule: Invalid value: "0 0 1 1": expected exactly 5 fields, found 4: [0 0 1 1]`},
		{"unknown descriptor", "spec.schedule: '@hourly'", "spec.schedule: '@never'",
			`spec.schedule: Invalid value: "@never": unrecognized descriptor: @never`},
		{"every", "spec.schedule: '@every 5m'", "spec.schedule: '@every five'",
			`spec.schedule: Invalid value: "@every five": failed to parse duration @every five: time: ` +
				`invalid duration "five"`},
		{"minute", "spec.schedule: '59 * * * *'", "spec.schedule: '60 * * * *'",
			`spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60`},
		{"hour", "spec.schedule: '0 23 * * *'", "spec.schedule: '0 24 * * *'",
			`spec.schedule: Invalid value: "0 24 * * *": end of range (24) above maximum (23): 24`},
		{"day", "spec.schedule: '0 0 31 * *'", "spec.schedule: '0 0 0 * *'",
			`spec.schedule: Invalid value: "0 0 0 * *": beginning of range (0) below minimum (1): 0`},
		{"month", "spec.schedule: '0 0 1 dec *'", "spec.schedule: '0 0 1 13 *'",
			`spec.schedule: Invalid value: "0 0 1 13 *": end of range (13) above maximum (12): 13`},
		{"day of the week", "spec.schedule: '0 0 * * 6'", "spec.schedule: '0 0 * * 7'",
			`spec.schedule: Invalid value: "0 0 * * 7": end of range (7) above maximum (6): 7`},
		{"order of a range", "spec.schedule: '1-5 * * * *'", "spec.schedule: '5-1 * * * *'",
			`spec.schedule: Invalid value: "5-1 * * * *": beginning of range (5) beyond end of range (1): 5-1`},
		{"step", "spec.schedule: '*/2 * * * *'", "spec.schedule: '*/0 * * * *'",
			`spec.schedule: Invalid value: "*/0 * * * *": step of range should be a positive number: */0`},
		{"number", "spec.schedule: '1 * * * *'", "spec.schedule: 'a * * * *'",
			`spec.schedule: Invalid value: "a * * * *": failed to parse int from a: strconv.Atoi: ` +
				`parsing "a": invalid syntax`},
		{"time zone in the schedule", "spec.timeZone: Europe/Berlin", "spec.schedule: 'TZ=UTC 0 0 * * *'",
			`spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use ` +
				"timeZone field instead"},
		{"both time zones", "spec.timeZone: UTC", "spec.timeZone: UTC; spec.schedule: 'CRON_TZ=UTC 0 0 * * *'",
			`spec.schedule: Invalid value: "CRON_TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in ` +
				"schedule, use timeZone field instead"},
		{"unknown time zone", "spec.timeZone: Etc/UTC", "spec.timeZone: Mars/Base",
			`spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base`},
		{"empty time zone", "spec.timeZone: null", `spec.timeZone: ""`,
			`spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string`},
		{"local time", "spec.timeZone: UTC", "spec.timeZone: Local",
			`spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in ` +
				"https://www.iana.org/time-zones"},
		{"path as time zone", "spec.timeZone: Etc/UTC", "spec.timeZone: Etc/../UTC",
			`spec.timeZone: Invalid value: "Etc/../UTC": unknown time zone Etc/../UTC`},
		{"startingDeadlineSeconds", "spec.startingDeadlineSeconds: 0", "spec.startingDeadlineSeconds: -1",
			"spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"concurrencyPolicy", "spec.concurrencyPolicy: Forbid", "spec.concurrencyPolicy: Never",
			`spec.concurrencyPolicy: Unsupported value: "Never": supported values: "Allow", "Forbid", "Replace"`},
		{"successfulJobsHistoryLimit", "spec.successfulJobsHistoryLimit: 0", "spec.successfulJobsHistoryLimit: -1",
			"spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"},
		{"failedJobsHistoryLimit", "spec.failedJobsHistoryLimit: 0", "spec.failedJobsHistoryLimit: -1",
			"spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"},
		{"name", "metadata.name: a23456789012345678901234567890123456789012345678901b",
			"metadata.name: a23456789012345678901234567890123456789012345678901bc",
			`metadata.name: Invalid value: "a23456789012345678901234567890123456789012345678901bc": must ` +
				"be no more than 52 characters"},
		{"selector", "spec.jobTemplate.spec.parallelism: 1", "spec.jobTemplate.spec.selector.matchLabels: {a: b}",
			"spec.jobTemplate.spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\"}}: `selector` will " +
				"be auto-generated"},
		{"manualSelector", "spec.jobTemplate.spec.manualSelector: false",
			"spec.jobTemplate.spec.manualSelector: true",
			`spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"`},
		{"job", "spec.jobTemplate.spec.completions: 0", "spec.jobTemplate.spec.completions: -1",
			"spec.jobTemplate.spec.completions: Invalid value: -1: must be greater than or equal to 0"},
		{"restartPolicy", "spec.jobTemplate.spec.template.spec.restartPolicy: OnFailure",
			"spec.jobTemplate.spec.template.spec.restartPolicy: Always",
			`spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{"containers", "", "spec.jobTemplate.spec.template.spec.containers: null",
			"spec.jobTemplate.spec.template.spec.containers: Required value"},
	})
}

func TestCronJobUpdateRules(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).Update(kindtest.Rules{
		{"schedule", "spec.schedule: '@yearly'", "spec.schedule: '@never'",
			`spec.schedule: Invalid value: "@never": unrecognized descriptor: @never`},
		{"time zone", "spec.timeZone: UTC", "spec.timeZone: Mars/Base",
			`spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base`},
		{"time zone in the schedule", "spec.suspend: true", "spec.schedule: 'TZ=UTC 0 0 * * *'",
			`spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use ` +
				"timeZone field instead"},
		{"startingDeadlineSeconds", "spec.startingDeadlineSeconds: 1", "spec.startingDeadlineSeconds: -1",
			"spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"job template", "spec.jobTemplate.spec.parallelism: 2", "spec.jobTemplate.spec.parallelism: -2",
			"spec.jobTemplate.spec.parallelism: Invalid value: -2: must be greater than or equal to 0"},
	})
}

func TestCronJobCreated(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).Created(kindtest.Cases{
		{"defaults", "",
			"spec.concurrencyPolicy: Allow; spec.suspend: false; spec.successfulJobsHistoryLimit: 3; " +
				"spec.failedJobsHistoryLimit: 1"},
		{"job", "",
			"spec.jobTemplate.spec.parallelism: null; spec.jobTemplate.spec.template.spec.dnsPolicy: ClusterFirst"},
		{"status", `status.lastScheduleTime: "2026-05-04T11:58:00Z"`,
			"status.lastScheduleTime: null; metadata.generation: 1"},
	})
}

func TestCronJobStatusUpdated(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).StatusUpdated(kindtest.Cases{
		{"spec", `spec.suspend: true; status.lastScheduleTime: "2026-05-04T11:58:00Z"`,
			"spec.suspend: false; status.lastScheduleTime: 2026-05-04T11:58:00Z"},
	})
}

func TestCronJobGenerations(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.suspend: true", "2"},
		{"annotations", "metadata.annotations: {c: d}", "1"},
	})
}

func TestCronJobWarnings(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).Warnings(kindtest.Cases{
		{"name", "metadata.name: a.b",
			"metadata.name: this is used in Pod names and hostnames, which can result in surprising " +
				"behavior; a DNS label is recommended: [must not contain dots]"},
		{"variable twice",
			"spec.jobTemplate.spec.template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			`spec.jobTemplate.spec.template.spec.containers[0].env[1]: hides previous definition of "A", ` +
				"which may be dropped when using apply"},
	})
}

func TestCronJobColumns(t *testing.T) {
	k := kindtest.New(t, "cronjobs.v1.batch", cronJob)
	k.Columns("Name|Schedule|Timezone|Suspend|Active|Last Schedule|Age|(Containers)|(Images)|(Selector)", kindtest.Cases{
		{"new", "", "x|*/5 1-3,7 * jan mon|<none>|False|0|<none>|60m|c|i:1|<none>"},
		{"active",
			"spec.suspend: true; spec.timeZone: UTC; status: {active: [{name: a}], lastScheduleTime: " +
				`"2026-05-04T11:58:00Z"}`, "x|*/5 1-3,7 * jan mon|UTC|True|1|2m|60m|c|i:1|<none>"},
	})
}
