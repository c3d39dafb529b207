package batch_test

import (
	"strings"
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
		{"unknown concurrencyPolicy", "spec.concurrencyPolicy: Replace", "spec.concurrencyPolicy: Queue",
			`spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"`},
		{"startingDeadlineSeconds of none", "spec.startingDeadlineSeconds: 0", "spec.startingDeadlineSeconds: -5",
			"spec.startingDeadlineSeconds: Invalid value: -5: must be greater than or equal to 0"},
		{"failure policy",
			"spec.jobTemplate.spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A}]}]",
			"spec.jobTemplate.spec.podFailurePolicy.rules: [{action: Ignore}]",
			"spec.jobTemplate.spec.podFailurePolicy.rules[0]: Invalid value: specifying one of " +
				"OnExitCodes and OnPodConditions is required"},
		{"success policy",
			"spec.jobTemplate.spec: {completionMode: Indexed, completions: 2, successPolicy: {rules: " +
				"[{succeededCount: 1}]}, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}",
			"spec.jobTemplate.spec.successPolicy: {rules: [{succeededCount: 1}]}",
			"spec.jobTemplate.spec.successPolicy: Invalid value: " +
				`{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode`},
		{"no parallel indexes", "spec.jobTemplate.spec.completionMode: NonIndexed",
			"spec.jobTemplate.spec: {completionMode: NonIndexed, backoffLimitPerIndex: 1, " +
				"maxFailedIndexes: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}",
			"spec.jobTemplate.spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion " +
				"mode; spec.jobTemplate.spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode"},
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
		{"failure policy",
			"spec.jobTemplate.spec.podFailurePolicy.rules: [{action: Ignore, onPodConditions: [{type: A}]}]",
			`spec.jobTemplate.spec.podFailurePolicy.rules[0].onPodConditions[0].status: "True"; ` +
				"spec.jobTemplate.spec.podReplacementPolicy: null"},
		{"own limits",
			"spec.concurrencyPolicy: Forbid; spec.suspend: true; spec.successfulJobsHistoryLimit: 0; " +
				"spec.failedJobsHistoryLimit: 0",
			"spec.concurrencyPolicy: Forbid; spec.suspend: true; spec.successfulJobsHistoryLimit: 0; " +
				"spec.failedJobsHistoryLimit: 0"},
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
		{"status", `status.lastScheduleTime: "2026-05-04T11:58:00Z"`, "1"},
		{"template", "spec.jobTemplate.metadata.labels: {a: b}", "2"},
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
		{"none", "", ""},
		{"many indexes",
			"spec.jobTemplate.spec: {completionMode: Indexed, completions: 100001, parallelism: 10001, " +
				"template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}",
			"spec.jobTemplate.spec: In Indexed Jobs with a number of completions higher than 10^5 and a " +
				"parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a " +
				"big number of indexes fail"},
	})
}

func TestCronJobColumns(t *testing.T) {
	k := kindtest.New(t, "cronjobs.v1.batch", cronJob)
	k.Columns("Name|Schedule|Timezone|Suspend|Active|Last Schedule|Age|(Containers)|(Images)|"+
		"(Selector)", kindtest.Cases{
		{"new", "", "x|*/5 1-3,7 * jan mon|<none>|False|0|<none>|60m|c|i:1|<none>"},
		{"active",
			"spec.suspend: true; spec.timeZone: UTC; status: {active: [{name: a}], lastScheduleTime: " +
				`"2026-05-04T11:58:00Z"}`, "x|*/5 1-3,7 * jan mon|UTC|True|1|2m|60m|c|i:1|<none>"},
		{"template",
			"spec.jobTemplate.spec.template.spec.containers[1]: {name: d, image: j}; " +
				"spec.concurrencyPolicy: Replace",
			"x|*/5 1-3,7 * jan mon|<none>|False|0|<none>|60m|c,d|i:1,j|<none>"},
		{"two active jobs", "status.active: [{name: a}, {name: b}]",
			"x|*/5 1-3,7 * jan mon|<none>|False|2|<none>|60m|c|i:1|<none>"},
	})
}

// TestCronJobSchedules checks the five fields of a schedule, and its descriptors.
func TestCronJobSchedules(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).Create(kindtest.Rules{
		{"no schedule", `spec.schedule: "@hourly"`, `spec.schedule: ""`, "spec.schedule: Required value"},
		{"number of fields", `spec.schedule: "0 0 1 1 0"`, `spec.schedule: "0 0 1 1"`,
			`spec.schedule: Invalid value: "0 0 1 1": expected exactly 5 fields, found 4: [0 0 1 1]`},
		{"minute", `spec.schedule: "59 * * * *"`, `spec.schedule: "60 * * * *"`,
			`spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60`},
		{"hour", `spec.schedule: "0 23 * * *"`, `spec.schedule: "0 24 * * *"`,
			`spec.schedule: Invalid value: "0 24 * * *": end of range (24) above maximum (23): 24`},
		{"day of the month", `spec.schedule: "0 0 1 * *"`, `spec.schedule: "0 0 0 * *"`,
			`spec.schedule: Invalid value: "0 0 0 * *": beginning of range (0) below minimum (1): 0`},
		{"last day of the month", `spec.schedule: "0 0 31 * *"`, `spec.schedule: "0 0 32 * *"`,
			`spec.schedule: Invalid value: "0 0 32 * *": end of range (32) above maximum (31): 32`},
		{"month", `spec.schedule: "0 0 1 12 *"`, `spec.schedule: "0 0 1 13 *"`,
			`spec.schedule: Invalid value: "0 0 1 13 *": end of range (13) above maximum (12): 13`},
		{"name of a month", `spec.schedule: "0 0 1 DEC *"`, `spec.schedule: "0 0 1 december *"`,
			`spec.schedule: Invalid value: "0 0 1 december *": failed to parse int from december: ` +
				`strconv.Atoi: parsing "december": invalid syntax`},
		{"day of the week", `spec.schedule: "0 0 * * 6"`, `spec.schedule: "0 0 * * 7"`,
			`spec.schedule: Invalid value: "0 0 * * 7": end of range (7) above maximum (6): 7`},
		{"name of a day", `spec.schedule: "0 0 * * sun-tue"`, `spec.schedule: "0 0 * * sunday"`,
			`spec.schedule: Invalid value: "0 0 * * sunday": failed to parse int from sunday: ` +
				`strconv.Atoi: parsing "sunday": invalid syntax`},
		{"range", `spec.schedule: "10-20 * * * *"`, `spec.schedule: "20-10 * * * *"`,
			`spec.schedule: Invalid value: "20-10 * * * *": beginning of range (20) beyond end of range (10): 20-10`},
		{"end of a range", `spec.schedule: "10-59 * * * *"`, `spec.schedule: "10-a * * * *"`,
			`spec.schedule: Invalid value: "10-a * * * *": failed to parse int from a: strconv.Atoi: ` +
				`parsing "a": invalid syntax`},
		{"two hyphens", `spec.schedule: "1-2 * * * *"`, `spec.schedule: "1-2-3 * * * *"`,
			`spec.schedule: Invalid value: "1-2-3 * * * *": too many hyphens: 1-2-3`},
		{"step", `spec.schedule: "*/15 * * * *"`, `spec.schedule: "*/0 * * * *"`,
			`spec.schedule: Invalid value: "*/0 * * * *": step of range should be a positive number: */0`},
		{"step that is no number", `spec.schedule: "0/15 * * * *"`, `spec.schedule: "*/a * * * *"`,
			`spec.schedule: Invalid value: "*/a * * * *": failed to parse int from a: strconv.Atoi: ` +
				`parsing "a": invalid syntax`},
		{"two slashes", `spec.schedule: "0-30/15 * * * *"`, `spec.schedule: "0/15/2 * * * *"`,
			`spec.schedule: Invalid value: "0/15/2 * * * *": too many slashes: 0/15/2`},
		{"negative number", `spec.schedule: "1,2,3 * * * *"`, `spec.schedule: "*/-1 * * * *"`,
			`spec.schedule: Invalid value: "*/-1 * * * *": negative number (-1) not allowed: -1`},
		{"any day", `spec.schedule: "0 0 ? * ?"`, `spec.schedule: "0 0 ! * ?"`,
			`spec.schedule: Invalid value: "0 0 ! * ?": failed to parse int from !: strconv.Atoi: ` +
				`parsing "!": invalid syntax`},
		{"interval", `spec.schedule: "@every 1h30m"`, `spec.schedule: "@every 1"`,
			`spec.schedule: Invalid value: "@every 1": failed to parse duration @every 1: time: missing ` +
				`unit in duration "1"`},
		{"descriptor", `spec.schedule: "@midnight"`, `spec.schedule: "@noon"`,
			`spec.schedule: Invalid value: "@noon": unrecognized descriptor: @noon`},
		{"spaces", `spec.schedule: " 0  0 1 1 0 "`, `spec.schedule: "   "`,
			`spec.schedule: Invalid value: "   ": expected exactly 5 fields, found 0: []`},
		{"time zone in the schedule", "spec.timeZone: Europe/Berlin",
			`spec.schedule: "CRON_TZ=Europe/Berlin 0 0 * * *"`,
			`spec.schedule: Invalid value: "CRON_TZ=Europe/Berlin 0 0 * * *": cannot use TZ or CRON_TZ ` +
				"in schedule, use timeZone field instead"},
		{"unknown time zone in the schedule", "spec.timeZone: UTC", `spec.schedule: "TZ=Mars/Base 0 0 * * *"`,
			`spec.schedule: Invalid value: "TZ=Mars/Base 0 0 * * *": provided bad location Mars/Base: ` +
				`unknown time zone Mars/Base; spec.schedule: Invalid value: "TZ=Mars/Base 0 0 * * *": cannot ` +
				"use TZ or CRON_TZ in schedule, use timeZone field instead"},
		{"time zone alone", "spec.timeZone: Etc/UTC", `spec.schedule: "TZ=UTC"`,
			`spec.schedule: Invalid value: "TZ=UTC": invalid schedule format: runtime error: slice ` +
				`bounds out of range [:-1]; spec.schedule: Invalid value: "TZ=UTC": cannot use TZ or CRON_TZ ` +
				"in schedule, use timeZone field instead"},
		{"two time zones", "spec.timeZone: Asia/Tokyo", `spec.timeZone: UTC; spec.schedule: "TZ=UTC 0 0 * * *"`,
			`spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use ` +
				"timeZone field instead"},
	})
}

// TestCronJobTimeZones checks the names of time zones.
func TestCronJobTimeZones(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).Create(kindtest.Rules{
		{"empty time zone", "spec.timeZone: null", `spec.timeZone: ""`,
			`spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string`},
		{"local time zone", "spec.timeZone: America/New_York", "spec.timeZone: Local",
			`spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in ` +
				"https://www.iana.org/time-zones"},
		{"parts of the path", "spec.timeZone: America/Argentina/Salta", "spec.timeZone: ../UTC",
			`spec.timeZone: Invalid value: "../UTC": unknown time zone ../UTC`},
		{"empty part", "spec.timeZone: Etc/GMT-5", "spec.timeZone: Etc//GMT",
			`spec.timeZone: Invalid value: "Etc//GMT": unknown time zone Etc//GMT`},
		{"long part", "spec.timeZone: America/Port-au-Prince", "spec.timeZone: America/" + strings.Repeat("a", 15),
			`spec.timeZone: Invalid value: "America/aaaaaaaaaaaaaaa": unknown time zone America/aaaaaaaaaaaaaaa`},
		{"part that begins with a hyphen", "spec.timeZone: Etc/GMT+5", "spec.timeZone: -UTC",
			`spec.timeZone: Invalid value: "-UTC": unknown time zone -UTC`},
		{"odd character", "spec.timeZone: UTC", `spec.timeZone: "U:TC"`,
			`spec.timeZone: Invalid value: "U:TC": unknown time zone U:TC`},
	})
}

func TestCronJobUpdated(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).Updated(kindtest.Cases{
		{"status", `status.lastScheduleTime: "2026-05-04T11:58:00Z"`, "status: {}"},
		{"missing policy", "spec.concurrencyPolicy: null; spec.suspend: null",
			"spec.concurrencyPolicy: Allow; spec.suspend: false"},
	})
}

func TestCronJobUpdateWarnings(t *testing.T) {
	kindtest.New(t, "cronjobs.v1.batch", cronJob).UpdateWarnings(kindtest.Cases{
		{"labels", "metadata.labels: {a: b}", ""},
		{"spec", "spec.suspend: true", ""},
		{"variable twice",
			"spec.jobTemplate.spec.template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			`spec.jobTemplate.spec.template.spec.containers[0].env[1]: hides previous definition of "A", ` +
				"which may be dropped when using apply"},
	})
}
