package kinds

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/apps"
	"github.com/miniapiserver/miniapiserver/kinds/batch"
	"github.com/miniapiserver/miniapiserver/kinds/core"
)

const testMeta = "metadata: {name: a, creationTimestamp: 2026-05-04T11:00:00Z}\n"

func TestReplicatedCells(t *testing.T) {
	const template = "template: {spec: {nodeSelector: {disk: ssd}, containers: [{name: x, image: i}, {name: 'y', image: j}]}}"
	const selector = "selector: {matchLabels: {b: '2', a: '1'}, matchExpressions: [{key: c, operator: NotIn, values: [e, d]}, {key: f, operator: Exists}]}"
	const chosen = "a=1,b=2,c notin (d,e),f"
	testCells(t, apps.Deployment(features.Default()), []cellsTest{
		{"full", testMeta + "spec: {replicas: 3, " + selector + ", " + template + "}\nstatus: {readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1}",
			"a|1/3|2|1|60m|x,y|i,j|" + chosen},
		{"empty", testMeta, "a|0/0|0|0|60m|||"},
		{"empty selector", testMeta + "spec: {selector: {}}", "a|0/0|0|0|60m|||"},
		{"bad selector", testMeta + "spec: {selector: {matchExpressions: [{key: c, operator: Near}]}}", "a|0/0|0|0|60m|||<invalid>"},
	})
	testCells(t, apps.ReplicaSet(features.Default()), []cellsTest{
		{"full", testMeta + "spec: {replicas: 3, " + selector + ", " + template + "}\nstatus: {replicas: 2, readyReplicas: 1}", "a|3|2|1|60m|x,y|i,j|" + chosen},
		{"bad selector", testMeta + "spec: {selector: {matchExpressions: [{key: c, operator: Near}]}}", "a|0|0|0|60m|||<error>"},
	})
	testCells(t, core.ReplicationController(features.Default()), []cellsTest{
		{"full", testMeta + "spec: {replicas: 2, selector: {b: c, a: b}, " + template + "}\nstatus: {replicas: 1}", "a|2|1|0|60m|x,y|i,j|a=b,b=c"},
		{"no template", testMeta + "spec: {replicas: 2}", "a|2|0|0|60m|||<none>"},
	})
	testCells(t, apps.StatefulSet(features.Default()), []cellsTest{
		{"full", testMeta + "spec: {replicas: 2, serviceName: s, " + selector + ", " + template + "}\nstatus: {replicas: 2, readyReplicas: 1}",
			"a|1/2|60m|x,y|i,j"},
	})
	testCells(t, apps.DaemonSet(features.Default()), []cellsTest{
		{"full", testMeta + "spec: {" + selector + ", " + template + "}\nstatus: {desiredNumberScheduled: 5, currentNumberScheduled: 4, numberMisscheduled: 9, " +
			"numberReady: 3, updatedNumberScheduled: 2, numberAvailable: 1}", "a|5|4|3|2|1|disk=ssd|60m|x,y|i,j|" + chosen},
		{"everywhere", testMeta, "a|0|0|0|0|0|<none>|60m|||<none>"},
	})
	testCells(t, core.PodTemplate(features.Default()), []cellsTest{
		{"full", testMeta + "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: x, image: i}]}}", "a|x|i|a=b"},
	})
}

func TestJobCells(t *testing.T) {
	const spec = "spec: {completions: 3, selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: c, image: i}]}}}\n"
	const rest = "|60m|c|i|a=b"
	testCells(t, batch.Job(features.Default()), []cellsTest{
		{"not started", testMeta + spec, "a|Running|0/3|" + rest},
		{"running", testMeta + spec + "status: {succeeded: 1, startTime: 2026-05-04T11:58:00Z}", "a|Running|1/3|2m" + rest},
		{"complete", testMeta + spec + "status: {succeeded: 3, startTime: 2026-05-04T11:01:00Z, completionTime: 2026-05-04T11:01:42Z, " +
			"conditions: [{type: SuccessCriteriaMet, status: 'True'}, {type: Complete, status: 'True'}]}", "a|Complete|3/3|42s" + rest},
		{"failed", testMeta + spec + "status: {startTime: 2026-05-04T11:58:00Z, conditions: [{type: FailureTarget, status: 'True'}, {type: Failed, status: 'True'}]}",
			"a|Failed|0/3|2m" + rest},
		{"failing", testMeta + spec + "status: {conditions: [{type: FailureTarget, status: 'True'}]}", "a|FailureTarget|0/3|" + rest},
		{"suspended", testMeta + spec + "status: {conditions: [{type: Suspended, status: 'True'}]}", "a|Suspended|0/3|" + rest},
		{"resumed", testMeta + spec + "status: {conditions: [{type: Suspended, status: 'False'}]}", "a|Running|0/3|" + rest},
		{"terminating", "metadata: {name: a, creationTimestamp: 2026-05-04T11:00:00Z, deletionTimestamp: 2026-05-04T11:00:00Z}\n" + spec +
			"status: {conditions: [{type: Suspended, status: 'True'}]}", "a|Terminating|0/3|" + rest},
		{"work queue", testMeta + "spec: {parallelism: 4, template: {}}", "a|Running|0/1 of 4||60m|||<none>"},
		{"one", testMeta + "spec: {parallelism: 1, template: {}}", "a|Running|0/1||60m|||<none>"},
	})
	testCells(t, batch.CronJob(features.Default()), []cellsTest{
		{"new", testMeta + "spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}",
			"a|* * * * *|<none>|<unset>|0|<none>|60m|c|i|<none>"},
		{"used", testMeta + "spec: {schedule: '@daily', timeZone: Etc/UTC, suspend: true, jobTemplate: {}}\n" +
			"status: {active: [{name: x}], lastScheduleTime: 2026-05-04T11:59:30Z}", "a|@daily|Etc/UTC|True|1|30s|60m|||<none>"},
		{"not suspended", testMeta + "spec: {schedule: '@daily', suspend: false, jobTemplate: {}}", "a|@daily|<none>|False|0|<none>|60m|||<none>"},
	})
}
