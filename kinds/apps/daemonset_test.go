package apps_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const daemonSet = `spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: 'i:1'}]}`

func TestDaemonSetRules(t *testing.T) {
	kindtest.New(t, "daemonsets.v1.apps", daemonSet).Create(kindtest.Rules{
		{"selector", "", "spec.selector: null",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template " +
				"`labels`"},
		{"empty selector", "", "spec.selector: {}",
			"spec.selector: Invalid value: {}: empty selector is invalid for daemonset"},
		{"operator", "spec.selector.matchExpressions: [{key: a, operator: Exists}]",
			"spec.selector.matchExpressions: [{key: a, operator: Has}]",
			`spec.selector.matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator`},
		{"selector of the template", "spec.template.metadata.labels: {a: b, c: d}",
			"spec.template.metadata.labels: {a: c}",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template " +
				"`labels`"},
		{"restartPolicy", "spec.template.spec.restartPolicy: Always", "spec.template.spec.restartPolicy: Never",
			`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		{"activeDeadlineSeconds", "", "spec.template.spec.activeDeadlineSeconds: 5",
			"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is " +
				"not Supported"},
		{"minReadySeconds", "spec.minReadySeconds: 9", "spec.minReadySeconds: -1",
			"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"revisionHistoryLimit", "spec.revisionHistoryLimit: 0", "spec.revisionHistoryLimit: -1",
			"spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"},
		{"template generation", `metadata.annotations[deprecated.daemonset.template.generation]: "5"`,
			"spec.minReadySeconds: -2",
			"spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0"},
		{"update strategy", "spec.updateStrategy.type: OnDelete", "spec.updateStrategy.type: Other",
			`spec.updateStrategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported ` +
				`values: "RollingUpdate", "OnDelete"`},
		{"maxUnavailable and maxSurge", "spec.updateStrategy.rollingUpdate: {maxSurge: 1, maxUnavailable: 0}",
			"spec.updateStrategy.rollingUpdate: {maxSurge: 1}",
			"spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when " +
				"maxUnavailable is non-zero"},
		{"neither", "spec.updateStrategy.rollingUpdate: {maxUnavailable: 1%}",
			"spec.updateStrategy.rollingUpdate: {maxUnavailable: 0}",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"},
		{"negative maxUnavailable", "spec.updateStrategy.rollingUpdate.maxUnavailable: 2",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: -2",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -2: must be greater than " +
				"or equal to 0"},
		{"maxUnavailable over 100%", "spec.updateStrategy.rollingUpdate.maxUnavailable: 100%",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: 101%",
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%`},
		{"maxSurge over 100%", "spec.updateStrategy.rollingUpdate: {maxUnavailable: 0, maxSurge: 100%}",
			"spec.updateStrategy.rollingUpdate: {maxUnavailable: 0, maxSurge: 101%}",
			`spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "101%": must not be greater than 100%`},
		{"no percentage", "spec.updateStrategy.rollingUpdate.maxUnavailable: 7%",
			"spec.updateStrategy.rollingUpdate.maxUnavailable: 7.5%",
			`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "7.5%": a valid percent ` +
				"string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used " +
				"for validation is '[0-9]+%'); spec.updateStrategy.rollingUpdate.maxUnavailable: Required " +
				"value: cannot be 0 when maxSurge is 0"},
	})
}

func TestDaemonSetUpdateRules(t *testing.T) {
	kindtest.New(t, "daemonsets.v1.apps", daemonSet).Update(kindtest.Rules{
		{"selector", "spec.minReadySeconds: 5",
			"spec.selector.matchLabels: {a: b, c: d}; spec.template.metadata.labels: {a: b, c: d}",
			`spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable`},
		{"strategy", "spec.updateStrategy: {type: OnDelete}", "spec.updateStrategy: {type: None}",
			`spec.updateStrategy: Unsupported value: {"Type":"None","RollingUpdate":null}: supported ` +
				`values: "RollingUpdate", "OnDelete"`},
	})
}

func TestDaemonSetStatusRules(t *testing.T) {
	k := kindtest.New(t, "daemonsets.v1.apps", daemonSet).With(
		"status: {currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 2, " +
			"numberReady: 1, collisionCount: 1}")
	k.UpdateStatus(kindtest.Rules{
		{"currentNumberScheduled", "status.currentNumberScheduled: 0", "status.currentNumberScheduled: -1",
			"status.currentNumberScheduled: Invalid value: -1: must be greater than or equal to 0"},
		{"numberMisscheduled", "status.numberMisscheduled: 0", "status.numberMisscheduled: -1",
			"status.numberMisscheduled: Invalid value: -1: must be greater than or equal to 0"},
		{"desiredNumberScheduled", "status.desiredNumberScheduled: 0", "status.desiredNumberScheduled: -1",
			"status.desiredNumberScheduled: Invalid value: -1: must be greater than or equal to 0"},
		{"numberReady", "status.numberReady: 0", "status.numberReady: -1",
			"status.numberReady: Invalid value: -1: must be greater than or equal to 0"},
		{"observedGeneration", "status.observedGeneration: 5", "status.observedGeneration: -5",
			"status.observedGeneration: Invalid value: -5: must be greater than or equal to 0"},
		{"updatedNumberScheduled", "status.updatedNumberScheduled: 5", "status.updatedNumberScheduled: -5",
			"status.updatedNumberScheduled: Invalid value: -5: must be greater than or equal to 0"},
		{"numberAvailable", "status.numberAvailable: 5", "status.numberAvailable: -5",
			"status.numberAvailable: Invalid value: -5: must be greater than or equal to 0"},
		{"numberUnavailable", "status.numberUnavailable: 5", "status.numberUnavailable: -5",
			"status.numberUnavailable: Invalid value: -5: must be greater than or equal to 0"},
		{"collisionCount", "status.collisionCount: 2", "status.collisionCount: 0",
			"status.collisionCount: Invalid value: 0: cannot be decremented"},
		{"negative collisionCount", "status.collisionCount: 1", "status.collisionCount: -1",
			"status.collisionCount: Invalid value: -1: must be greater than or equal to 0; " +
				"status.collisionCount: Invalid value: -1: cannot be decremented"},
	})
}

func TestDaemonSetCreated(t *testing.T) {
	kindtest.New(t, "daemonsets.v1.apps", daemonSet).Created(kindtest.Cases{
		{"defaults", "",
			"spec.revisionHistoryLimit: 10; spec.updateStrategy.type: RollingUpdate; " +
				"spec.updateStrategy.rollingUpdate.maxUnavailable: 1; spec.updateStrategy.rollingUpdate.maxSurge: 0"},
		{"template generation", "",
			`metadata.annotations[deprecated.daemonset.template.generation]: "1"; metadata.generation: 1`},
		{"own template generation", `metadata.annotations[deprecated.daemonset.template.generation]: "7"`,
			`metadata.annotations[deprecated.daemonset.template.generation]: "7"`},
		{"on deletion", "spec.updateStrategy.type: OnDelete", "spec.updateStrategy.rollingUpdate: null"},
	})
}

func TestDaemonSetUpdated(t *testing.T) {
	kindtest.New(t, "daemonsets.v1.apps", daemonSet).Updated(kindtest.Cases{
		{"template generation", "spec.template.spec.nodeName: node",
			`metadata.annotations[deprecated.daemonset.template.generation]: "2"`},
		{"other fields", "spec.minReadySeconds: 5",
			`metadata.annotations[deprecated.daemonset.template.generation]: "1"`},
		{"by the client", `metadata.annotations[deprecated.daemonset.template.generation]: "9"`,
			`metadata.annotations[deprecated.daemonset.template.generation]: "1"`},
	})
}

func TestDaemonSetStatusUpdated(t *testing.T) {
	kindtest.New(t, "daemonsets.v1.apps", daemonSet).StatusUpdated(kindtest.Cases{
		{"template generation", `metadata.annotations[deprecated.daemonset.template.generation]: "9"`,
			`metadata.annotations[deprecated.daemonset.template.generation]: "1"`},
		{"spec", "spec.minReadySeconds: 9; status.numberReady: 4",
			"spec.minReadySeconds: null; status.numberReady: 4"},
	})
}

func TestDaemonSetGenerations(t *testing.T) {
	kindtest.New(t, "daemonsets.v1.apps", daemonSet).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.minReadySeconds: 2", "2"},
	})
}

func TestDaemonSetWarnings(t *testing.T) {
	kindtest.New(t, "daemonsets.v1.apps", daemonSet).Warnings(kindtest.Cases{
		{"variable twice", "spec.template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			`spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be ` +
				"dropped when using apply"},
	})
}

func TestDaemonSetUpdateWarnings(t *testing.T) {
	k := kindtest.New(t, "daemonsets.v1.apps", daemonSet).With(
		"spec.template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]")
	k.UpdateWarnings(kindtest.Cases{
		{"other fields", "spec.minReadySeconds: 2", ""},
		{"template", "spec.template.spec.nodeName: node",
			`spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be ` +
				"dropped when using apply"},
	})
}

func TestDaemonSetColumns(t *testing.T) {
	k := kindtest.New(t, "daemonsets.v1.apps", daemonSet)
	k.Columns("Name|Desired|Current|Ready|Up-to-date|Available|Node Selector|Age|(Containers)|"+
		"(Images)|(Selector)", kindtest.Cases{
		{"new", "", "x|0|0|0|0|0|<none>|60m|c|i:1|a=b"},
		{"running",
			"spec.template.spec.nodeSelector: {a: b}; status: {desiredNumberScheduled: 6, " +
				"currentNumberScheduled: 5, numberReady: 4, updatedNumberScheduled: 3, numberAvailable: 2}",
			"x|6|5|4|3|2|a=b|60m|c|i:1|a=b"},
	})
}

// TestDaemonSetCells checks what tables show of daemon sets.
func TestDaemonSetCells(t *testing.T) {
	k := kindtest.New(t, "daemonsets.v1.apps", daemonSet)
	k.Columns("Name|Desired|Current|Ready|Up-to-date|Available|Node Selector|Age|(Containers)|"+
		"(Images)|(Selector)", kindtest.Cases{
		{"nodes",
			"spec.template.spec.nodeSelector: {disk: ssd}; status: {desiredNumberScheduled: 5, " +
				"currentNumberScheduled: 4, numberMisscheduled: 9, numberReady: 3, updatedNumberScheduled: " +
				"2, numberAvailable: 1}", "x|5|4|3|2|1|disk=ssd|60m|c|i:1|a=b"},
		{"everywhere", "metadata.labels: {a: b}", "x|0|0|0|0|0|<none>|60m|c|i:1|a=b"},
	})
}
