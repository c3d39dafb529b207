package batch_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestJobStatusRules(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.completions: 5; spec.parallelism: 2; spec.completionMode: Indexed; " +
			`spec.backoffLimitPerIndex: 1; status: {startTime: "2026-05-04T11:00:00Z", active: 1, failed: 2, ` +
			`succeeded: 2, ready: 1, completedIndexes: "0,1"}`)
	k.UpdateStatus(kindtest.Rules{
		{"active", "status.active: 2", "status.active: -1; status.ready: null",
			"status.active: Invalid value: -1: must be greater than or equal to 0"},
		{"succeeded", "status.succeeded: 3", "status.succeeded: -1",
			"status.succeeded: Invalid value: -1: must be greater than or equal to 0; status.succeeded: " +
				"Invalid value: -1: cannot decrease the succeeded counter"},
		{"failed", "status.failed: 3", "status.failed: -1",
			"status.failed: Invalid value: -1: must be greater than or equal to 0; status.failed: " +
				"Invalid value: -1: cannot decrease the failed counter"},
		{"ready", "status.ready: 0", "status.ready: -1",
			"status.ready: Invalid value: -1: must be greater than or equal to 0"},
		{"terminating", "status.terminating: 0", "status.terminating: -1",
			"status.terminating: Invalid value: -1: must be greater than or equal to 0"},
		{"fewer succeeded", "status.succeeded: 3", "status.succeeded: 1",
			"status.succeeded: Invalid value: 1: cannot decrease the succeeded counter"},
		{"fewer failed", "status.failed: 2", "status.failed: 1",
			"status.failed: Invalid value: 1: cannot decrease the failed counter"},
		{"more ready than active", "status.active: 2; status.ready: 2", "status.ready: 2",
			"status.ready: Invalid value: 2: cannot set more ready pods than active"},
		{"uncounted pods", "status.uncountedTerminatedPods: {succeeded: [a], failed: [b]}",
			"status.uncountedTerminatedPods: {succeeded: [a], failed: [a]}",
			`status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"`},
		{"empty uid", "status.uncountedTerminatedPods: {succeeded: [a]}",
			`status.uncountedTerminatedPods: {succeeded: [""]}`,
			`status.uncountedTerminatedPods.succeeded[0]: Invalid value: "": must not be empty`},
		{"completedIndexes", `status.completedIndexes: "0-2"`, `status.completedIndexes: "0-5"`,
			`status.completedIndexes: Invalid value: "0-5": error parsing completedIndexes: too large index: "5"`},
		{"failedIndexes", `status.failedIndexes: "2,3"`, `status.failedIndexes: "3,2"`,
			`status.failedIndexes: Invalid value: "3,2": error parsing failedIndexes: non-increasing ` +
				"order, previous: 3, current: 2"},
		{"overlapping indexes", `status.failedIndexes: "2"`, `status.failedIndexes: "1-2"`,
			`status.failedIndexes: Invalid value: "1-2": failedIndexes and completedIndexes overlap at index: 1`},
		{"startTime", "status.failed: 2", `status.startTime: "2026-05-04T11:00:01Z"`,
			`status.startTime: Invalid value: "2026-05-04T11:00:01Z": field is immutable for unsuspended ` +
				"job once set"},
		{"completionTime without condition", `status.conditions: [{type: SuccessCriteriaMet, status: "True"}]`,
			`status.completionTime: "2026-05-04T12:00:00Z"`,
			`status.completionTime: Invalid value: "2026-05-04T12:00:00Z": cannot set completionTime ` +
				"when there is no Complete=True condition"},
		{"complete without completionTime",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.completionTime: "2026-05-04T12:00:00Z"; status.active: 0; status.ready: 0`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.active: 0; status.ready: 0`,
			"status.completionTime: Required value: completionTime is required for Complete jobs"},
		{"completion before start",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.completionTime: "2026-05-04T11:00:00Z"; status.active: 0; status.ready: 0`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.completionTime: "2026-05-04T10:00:00Z"; status.active: 0; status.ready: 0`,
			"status.completionTime: Invalid value: \"2026-05-04T10:00:00Z\": must be equal to or after `startTime`"},
		{"complete without criteria", `status.conditions: [{type: SuccessCriteriaMet, status: "True"}]`,
			`status.conditions: [{type: Complete, status: "True"}]; status.completionTime: ` +
				`"2026-05-04T12:00:00Z"; status.active: 0; status.ready: 0`,
			"status.conditions: Invalid value: cannot set Complete=True condition without the " +
				"SuccessCriteriaMet=true condition"},
		{"failed without target",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0",
			`status.conditions: [{type: Failed, status: "True"}]; status.active: 0; status.ready: 0`,
			"status.conditions: Invalid value: cannot set Failed=True condition without the " +
				"FailureTarget=true condition"},
		{"complete and failed", `status.conditions: [{type: FailureTarget, status: "True"}]`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}, {type: Failed, status: "True"}, {type: FailureTarget, status: "True"}]; ` +
				`status.completionTime: "2026-05-04T12:00:00Z"; status.active: 0; status.ready: 0`,
			"status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions; " +
				"status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true " +
				"conditions; status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and " +
				"Failed=true conditions; status.conditions: Invalid value: cannot set " +
				"SuccessCriteriaMet=True and FailureTarget=true conditions"},
		{"criteria and failure", `status.conditions: [{type: SuccessCriteriaMet, status: "True"}]`,
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: FailureTarget, status: "True"}]`,
			"status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"},
		{"active at the end",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]`,
			"status.active: Invalid value: 1: active>0 is invalid for finished job"},
		{"terminating at the end",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0; status.terminating: 0",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0; status.terminating: 1",
			"status.terminating: Invalid value: 1: terminating>0 is invalid for finished job"},
		{"uncounted at the end",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0; status.uncountedTerminatedPods: {}",
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]; ` +
				"status.active: 0; status.ready: 0; status.uncountedTerminatedPods: {failed: [a]}",
			`status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: must be ` +
				"empty for finished job"},
	})
}

func TestNonIndexedJobStatus(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).UpdateStatus(kindtest.Rules{
		{"completedIndexes", "status.succeeded: 1", `status.completedIndexes: "0"`,
			`status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when ` +
				"non-indexed completion mode"},
		{"failedIndexes", "status.failed: 1", `status.failedIndexes: "0"`,
			`status.failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when ` +
				"backoffLimitPerIndex is null"},
		{"start of a finished job",
			`status: {startTime: "2026-05-04T11:00:00Z", conditions: [{type: FailureTarget, status: ` +
				`"True"}, {type: Failed, status: "True"}]}`,
			`status.conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]`,
			"status.startTime: Required value: startTime is required for finished job"},
		{"uncounted pods of one kind", "status.uncountedTerminatedPods: {failed: [a, b]}",
			"status.uncountedTerminatedPods: {failed: [a, a]}",
			`status.uncountedTerminatedPods.failed[1]: Duplicate value: "a"`},
	})
}

func TestFinishedJobStatus(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		`status: {startTime: "2026-05-04T11:00:00Z", completionTime: "2026-05-04T11:30:00Z", succeeded: ` +
			`1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`)
	k.UpdateStatus(kindtest.Rules{
		{"complete", "status.succeeded: 2",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}]; status.completionTime: null`,
			"status.conditions: Invalid value: cannot disable the terminal Complete=True condition"},
		{"criteria", "status.succeeded: 2", `status.conditions: [{type: Complete, status: "True"}]`,
			"status.conditions: Invalid value: cannot set Complete=True condition without the " +
				"SuccessCriteriaMet=true condition; status.conditions: Invalid value: cannot disable the " +
				"SuccessCriteriaMet=True condition"},
		{"completionTime", "status.failed: 1", `status.completionTime: "2026-05-04T11:40:00Z"`,
			`status.completionTime: Invalid value: "2026-05-04T11:40:00Z": field is immutable`},
	})
}

func TestJobStatusUpdated(t *testing.T) {
	kindtest.New(t, "jobs.v1.batch", job).StatusUpdated(kindtest.Cases{
		{"spec", "spec.parallelism: 5; status.active: 4", "spec.parallelism: 1; status.active: 4"},
	})
}

// TestFailedJobStatus checks that the end of a failed job is final.
func TestFailedJobStatus(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		`status: {startTime: "2026-05-04T11:00:00Z", failed: 1, conditions: [{type: FailureTarget, ` +
			`status: "True"}, {type: Failed, status: "True"}]}`)
	k.UpdateStatus(kindtest.Rules{
		{"failure", "status.failed: 2", `status.conditions: [{type: FailureTarget, status: "True"}]`,
			"status.conditions: Invalid value: cannot disable the terminal Failed=True condition"},
		{"target of the failure", "status.failed: 2", `status.conditions: [{type: Failed, status: "True"}]`,
			"status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition"},
		{"success instead", "status.failed: 2",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: ` +
				`"True"}]; status.completionTime: "2026-05-04T12:00:00Z"`,
			"status.conditions: Invalid value: cannot disable the terminal Failed=True condition; " +
				"status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition"},
	})
}

// TestSuspendedJobStatus checks that a job gets another start when it resumes.
func TestSuspendedJobStatus(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		`status: {startTime: "2026-05-04T11:00:00Z", conditions: [{type: Suspended, status: "True"}]}`)
	k.UpdateStatus(kindtest.Rules{
		{"start when it resumes",
			`status.startTime: "2026-05-04T12:00:00Z"; status.conditions: [{type: Suspended, status: "False"}]`,
			`status.startTime: "2026-05-04T12:00:00Z"`,
			`status.startTime: Invalid value: "2026-05-04T12:00:00Z": field is immutable for unsuspended ` +
				"job once set"},
		{"start of a running job", `status.conditions: [{type: Suspended, status: "False"}]`,
			`status.startTime: "2026-05-04T12:00:00Z"; status.conditions: []`,
			`status.startTime: Invalid value: "2026-05-04T12:00:00Z": field is immutable for unsuspended ` +
				"job once set"},
	})
}

// TestElasticJobStatus checks that the successes of an indexed job that may shrink may, too.
func TestElasticJobStatus(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		"spec.completions: 3; spec.parallelism: 3; spec.completionMode: Indexed; status: {startTime: " +
			`"2026-05-04T11:00:00Z", succeeded: 3, completedIndexes: "0-2"}`)
	k.UpdateStatus(kindtest.Rules{
		{"fewer succeeded", `status.succeeded: 1; status.completedIndexes: "0"`, "status.succeeded: -1",
			"status.succeeded: Invalid value: -1: must be greater than or equal to 0"},
		{"completed indexes", `status.completedIndexes: "0,2"`, `status.completedIndexes: "2,0"`,
			`status.completedIndexes: Invalid value: "2,0": error parsing completedIndexes: ` +
				"non-increasing order, previous: 2, current: 0"},
		{"disjoint failed indexes", `status.completedIndexes: "0,2"`, `status.failedIndexes: "1"`,
			`status.failedIndexes: Invalid value: "1": cannot set non-null failedIndexes when ` +
				`backoffLimitPerIndex is null; status.failedIndexes: Invalid value: "1": failedIndexes and ` +
				"completedIndexes overlap at index: 1"},
	})
}

// TestCompleteJobOfOlderServer checks that a job that an older server completed does not get the condition of
// newer servers.
func TestCompleteJobOfOlderServer(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		`status: {startTime: "2026-05-04T11:00:00Z", completionTime: "2026-05-04T11:30:00Z", succeeded: ` +
			`1, conditions: [{type: Complete, status: "True"}]}`)
	k.UpdateStatus(kindtest.Rules{
		{"criteria", "status.succeeded: 2",
			`status.conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]`,
			"status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job already has " +
				"Complete=true conditions"},
	})
}

// TestInvalidStoredJobStatus checks that faults that an older server stored do not prevent other changes.
func TestInvalidStoredJobStatus(t *testing.T) {
	k := kindtest.New(t, "jobs.v1.batch", job).With(
		`status: {active: 1, conditions: [{type: Failed, status: "True"}]}`)
	k.UpdateStatus(kindtest.Rules{
		{"counters", "status.failed: 1", "status.failed: -1",
			"status.failed: Invalid value: -1: must be greater than or equal to 0; status.failed: " +
				"Invalid value: -1: cannot decrease the failed counter"},
	})
}
