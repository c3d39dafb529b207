package kinds

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/batch"
)

func TestJobRulesOfUpdate(t *testing.T) {
	pods := `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i:1"}]}}`
	running := `{"spec":{"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},` + pods + `}}`
	suspended := `{"spec":{"suspend":true,"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},` + pods + `}}`
	restarts := `{"spec":{"suspend":true,"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},` +
		`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"OnFailure","containers":[{"name":"c","image":"i:1"}]}}}}`
	resources := `{"spec":{"suspend":true,"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},` +
		`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","nodeSelector":{"a":"b"},"containers":[{"name":"c","image":"i:1","resources":{"requests":{"cpu":"1"}}}]}}}}`
	testRules(t, batch.Job(features.Default()), []ruleTest{
		{"same", running, running, ""},
		{"template of a suspended job", suspended, restarts, `spec.template.spec: Invalid value: {"Volumes":null,`},
		{"template of a running job", running, restarts, `spec.template: Invalid value: {"labels":{"a":"b"},"Spec":{"Volumes":null,`},
		{"resources and nodes", suspended, resources, ""},
		{"another selector", running, `{"spec":{"manualSelector":true,"selector":{"matchLabels":{"x":"y"}},` + pods + `}}`,
			"[spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`, " +
				`spec.selector: Invalid value: {"matchLabels":{"x":"y"}}: field is immutable]`},
	})
}

// TestJobUpdateErrors checks the order of errors of an update, that each is listed once, and that a
// generated selector is not checked again.
func TestJobUpdateErrors(t *testing.T) {
	r := batch.Job(features.Default())
	const generated = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`
	old := ruleObject(t, r, `{"metadata":{"name":"A","namespace":"ns","resourceVersion":"1"},"spec":{"completionMode":"Indexed","completions":1,`+generated)
	updated := ruleObject(t, r, `{"metadata":{"name":"A","namespace":"ns","resourceVersion":"1"},"spec":{"completionMode":"Indexed","parallelism":-1,"completions":2,`+generated)
	var fields []string
	for _, err := range checkUpdate(r, nil, updated, old) {
		fields = append(fields, err.Field)
	}
	if got := strings.Join(fields, " "); got != "spec.parallelism spec.completions metadata.name" {
		t.Errorf("errors of %s", got)
	}
}

func TestJobPolicyRules(t *testing.T) {
	with := func(spec string) string {
		return `{"spec":{"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` +
			`"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i:1"}]}},` + spec + `}}`
	}
	testRules(t, batch.Job(features.Default()), []ruleTest{
		{"no action", "", with(`"podFailurePolicy":{"rules":[{"onPodConditions":[{"type":"A"}]}]}`),
			`spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`},
		{"index alone", "", with(`"maxFailedIndexes":1`),
			"[spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified, spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode]"},
		{"interval", "", with(`"completionMode":"Indexed","completions":3,"successPolicy":{"rules":[{"succeededIndexes":"0-1-2"}]}`),
			`error parsing succeededIndexes: the fragment "0-1-2" violates the requirement that an index interval can have at most two parts separated by '-'`},
		{"count without indexes", "", with(`"completionMode":"Indexed","completions":3,"successPolicy":{"rules":[{"succeededIndexes":"7","succeededCount":1}]}`),
			`must be less than or equal to 0 (the number of indexes in the specified succeededIndexes field)`},
	})
}

func TestJobStatusRules(t *testing.T) {
	const spec = `{"spec":{"completions":5,"completionMode":"Indexed","backoffLimitPerIndex":1},"status":`
	none := spec + `{}}`
	start, end := `"startTime":"2024-01-02T00:00:00Z"`, `"completionTime":"2024-01-01T00:00:00Z"`
	condition := func(t string) string { return `{"type":"` + t + `","status":"True"}` }
	testStatusRules(t, batch.Job(features.Default()), []ruleTest{
		{"complete", none, spec + `{` + start + `,"completionTime":"2024-01-03T00:00:00Z","conditions":[` + condition("SuccessCriteriaMet") + `,` + condition("Complete") + `]}}`, ""},
		{"complete too early", none, spec + `{` + start + `,` + end + `,"conditions":[` + condition("Complete") + `]}}`,
			"[status.completionTime: Invalid value: \"2024-01-01T00:00:00Z\": must be equal to or after `startTime`, " +
				"status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition]"},
		{"failed", none, spec + `{"active":1,"conditions":[` + condition("Failed") + `]}}`,
			"[status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition, " +
				"status.active: Invalid value: 1: active>0 is invalid for finished job, status.startTime: Required value: startTime is required for finished job]"},
		{"both", none, spec + `{"conditions":[` + condition("SuccessCriteriaMet") + `,` + condition("FailureTarget") + `]}}`,
			"cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"},
		{"indexes", none, spec + `{"completedIndexes":"1-3","failedIndexes":"0,3-4"}}`,
			`status.failedIndexes: Invalid value: "0,3-4": failedIndexes and completedIndexes overlap at index: 3`},
		{"indexes of another job", `{"status":{}}`, `{"status":{"completedIndexes":"0","failedIndexes":"2"}}`,
			`[status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode, ` +
				`status.failedIndexes: Invalid value: "2": cannot set non-null failedIndexes when backoffLimitPerIndex is null]`},
		{"ready", none, spec + `{"ready":2,"active":1}}`, "status.ready: Invalid value: 2: cannot set more ready pods than active"},
		{"counters", spec + `{"failed":2,"succeeded":2}}`, spec + `{"failed":1,"succeeded":1}}`,
			"[status.failed: Invalid value: 1: cannot decrease the failed counter, status.succeeded: Invalid value: 1: cannot decrease the succeeded counter]"},
		{"end taken back", spec + `{"conditions":[` + condition("Failed") + `]}}`, none, "cannot disable the terminal Failed=True condition"},
		{"start", spec + `{` + start + `}}`, none, "status.startTime: Invalid value: null: field is immutable for unsuspended job once set"},
		{"a fault that was there", spec + `{"active":1,"conditions":[` + condition("Failed") + `]}}`, spec + `{"active":1,"conditions":[` + condition("Failed") + `]}}`, ""},
	})
}
