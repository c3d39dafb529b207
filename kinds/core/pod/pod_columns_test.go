package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestPodColumns(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod)
	k.Columns("Name|Ready|Status|Restarts|Age|(IP)|(Node)|(Nominated Node)|(Readiness Gates)", kindtest.Cases{
		{"new", "", "x|0/1|Pending|0|60m|<none>|<none>|<none>|<none>"},
		{"running",
			`status: {phase: Running, startTime: "2026-05-04T11:00:00Z", podIP: 10.0.0.1, podIPs: [{ip: ` +
				"10.0.0.1}], containerStatuses: [{name: c, ready: true, restartCount: 2, image: i, imageID: " +
				"j, state: {running: {}}, lastState: {terminated: {exitCode: 1, finishedAt: " +
				`"2026-05-04T11:30:00Z"}}}]}; spec.nodeName: node`,
			"x|1/1|Running|2 (30m ago)|60m|10.0.0.1|node|<none>|<none>"},
		{"waiting",
			"status: {phase: Pending, containerStatuses: [{name: c, image: i, imageID: j, state: " +
				"{waiting: {reason: CrashLoopBackOff}}}]}",
			"x|0/1|CrashLoopBackOff|0|60m|<none>|<none>|<none>|<none>"},
		{"ended",
			"status: {phase: Failed, containerStatuses: [{name: c, image: i, imageID: j, state: " +
				"{terminated: {exitCode: 3}}}]}", "x|0/1|ExitCode:3|0|60m|<none>|<none>|<none>|<none>"},
		{"signal",
			"status: {phase: Failed, containerStatuses: [{name: c, image: i, imageID: j, state: " +
				"{terminated: {signal: 9, exitCode: 137}}}]}", "x|0/1|Signal:9|0|60m|<none>|<none>|<none>|<none>"},
		{"reason", "status: {phase: Failed, reason: Evicted}", "x|0/1|Evicted|0|60m|<none>|<none>|<none>|<none>"},
		{"gated",
			"spec.schedulingGates: [{name: a}]; status.conditions: [{type: PodScheduled, status: " +
				`"False", reason: SchedulingGated}]`, "x|0/1|SchedulingGated|0|60m|<none>|<none>|<none>|<none>"},
		{"readiness gate",
			"spec.readinessGates: [{conditionType: a}, {conditionType: b}]; status.conditions: [{type: " +
				`a, status: "True"}]`, "x|0/1||0|60m|<none>|<none>|<none>|1/2"},
		{"init",
			"spec.initContainers: [{name: d, image: j}, {name: e, image: j}]; " +
				"status.initContainerStatuses: [{name: d, image: i, imageID: j, state: {terminated: " +
				"{exitCode: 0}}}, {name: e, image: i, imageID: j, state: {waiting: {reason: PodInitializing}}}]",
			"x|0/1|Init:1/2|0|60m|<none>|<none>|<none>|<none>"},
		{"failed init",
			"spec.initContainers: [{name: d, image: j}]; status.initContainerStatuses: [{name: d, image: " +
				"i, imageID: j, state: {terminated: {exitCode: 2}}}]",
			"x|0/1|Init:ExitCode:2|0|60m|<none>|<none>|<none>|<none>"},
		{"nominated", "status.nominatedNodeName: node", "x|0/1||0|60m|<none>|<none>|node|<none>"},
	})
}

func TestPodFields(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Selectable(kindtest.Cases{
		{"new", "",
			"spec.hostNetwork=false,spec.nodeName=,spec.restartPolicy=Always,spec.schedulerName=default-s" +
				"cheduler,spec.serviceAccountName=,status.nominatedNodeName=,status.phase=Pending,status.podI" +
				"P=,status.podIPs="},
		{"running",
			"spec.nodeName: node; spec.serviceAccountName: sa; status: {phase: Running, podIP: " +
				"10.0.0.1}; spec.hostNetwork: true",
			"spec.hostNetwork=true,spec.nodeName=node,spec.restartPolicy=Always,spec.schedulerName=defaul" +
				"t-scheduler,spec.serviceAccountName=sa,status.nominatedNodeName=,status.phase=Running,status" +
				".podIP=10.0.0.1,status.podIPs="},
	})
}
