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

// TestPodStates checks the state of a pod, which the states of its containers make up.
func TestPodStates(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod)
	k.Columns("Name|Ready|Status|Restarts|Age|(IP)|(Node)|(Nominated Node)|(Readiness Gates)", kindtest.Cases{
		{"pending", "status: {phase: Pending}", "x|0/1|Pending|0|60m|<none>|<none>|<none>|<none>"},
		{"ready",
			"status: {phase: Running, containerStatuses: [{name: c, image: i, imageID: j, ready: true, " +
				"state: {running: {}}}]}", "x|1/1|Running|0|60m|<none>|<none>|<none>|<none>"},
		{"creating",
			"status: {phase: Pending, containerStatuses: [{name: c, image: i, imageID: j, state: " +
				"{waiting: {reason: ContainerCreating}}}]}",
			"x|0/1|ContainerCreating|0|60m|<none>|<none>|<none>|<none>"},
		{"waiting without a reason",
			"status: {phase: Pending, containerStatuses: [{name: c, image: i, imageID: j, state: {waiting: {}}}]}",
			"x|0/1|Pending|0|60m|<none>|<none>|<none>|<none>"},
		{"crashing",
			"status: {phase: Running, containerStatuses: [{name: c, image: i, imageID: j, restartCount: " +
				"3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, " +
				`finishedAt: "2026-05-04T11:58:00Z"}}}]}`,
			"x|0/1|CrashLoopBackOff|3 (2m ago)|60m|<none>|<none>|<none>|<none>"},
		{"restarted without a time",
			"status: {phase: Running, containerStatuses: [{name: c, image: i, imageID: j, restartCount: " +
				"3, ready: true, state: {running: {}}}]}", "x|1/1|Running|3|60m|<none>|<none>|<none>|<none>"},
		{"completed",
			"status: {phase: Succeeded, containerStatuses: [{name: c, image: i, imageID: j, state: " +
				"{terminated: {exitCode: 0, reason: Completed}}}]}",
			"x|0/1|Completed|0|60m|<none>|<none>|<none>|<none>"},
	})
}

// TestPodStatesOfTwoContainers checks which container of several the state is from.
func TestPodStatesOfTwoContainers(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With("spec.containers[1]: {name: d, image: 'i:1'}")
	k.Columns("Name|Ready|Status|Restarts|Age|(IP)|(Node)|(Nominated Node)|(Readiness Gates)", kindtest.Cases{
		{"first container",
			"status: {phase: Running, containerStatuses: [{name: c, image: i, imageID: j, state: " +
				"{waiting: {reason: ErrImagePull}}}, {name: d, image: i, imageID: j, state: {waiting: " +
				"{reason: ImagePullBackOff}}}]}", "x|0/2|ErrImagePull|0|60m|<none>|<none>|<none>|<none>"},
		{"one done, one ready",
			`status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: ` +
				"[{name: c, image: i, imageID: j, state: {terminated: {exitCode: 0, reason: Completed}}}, " +
				"{name: d, image: i, imageID: j, ready: true, state: {running: {}}}]}",
			"x|1/2|Running|0|60m|<none>|<none>|<none>|<none>"},
		{"one done, one not ready",
			`status: {phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: ` +
				"[{name: c, image: i, imageID: j, state: {terminated: {exitCode: 0, reason: Completed}}}, " +
				"{name: d, image: i, imageID: j, ready: true, state: {running: {}}}]}",
			"x|1/2|NotReady|0|60m|<none>|<none>|<none>|<none>"},
	})
}

// TestPodStatesOfInitContainers checks the states of pods whose init containers run.
func TestPodStatesOfInitContainers(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.initContainers: [{name: k, image: 'i:1'}, {name: l, image: 'i:1'}]")
	k.Columns("Name|Ready|Status|Restarts|Age|(IP)|(Node)|(Nominated Node)|(Readiness Gates)", kindtest.Cases{
		{"first runs",
			"status: {phase: Pending, initContainerStatuses: [{name: k, image: i, imageID: j, state: " +
				"{waiting: {reason: PodInitializing}}}, {name: l, image: i, imageID: j}]}",
			"x|0/1|Init:0/2|0|60m|<none>|<none>|<none>|<none>"},
		{"second runs",
			"status: {phase: Pending, initContainerStatuses: [{name: k, image: i, imageID: j, state: " +
				"{terminated: {exitCode: 0}}}, {name: l, image: i, imageID: j, state: {running: {}}}]}",
			"x|0/1|Init:1/2|0|60m|<none>|<none>|<none>|<none>"},
		{"failed with a reason",
			"status: {phase: Pending, initContainerStatuses: [{name: k, image: i, imageID: j, " +
				"restartCount: 2, state: {terminated: {exitCode: 1, reason: Error}}, lastState: {terminated: " +
				`{exitCode: 1, finishedAt: "2026-05-04T11:59:00Z"}}}]}`,
			"x|0/1|Init:Error|2 (60s ago)|60m|<none>|<none>|<none>|<none>"},
		{"failed with a signal",
			"status: {phase: Pending, initContainerStatuses: [{name: k, image: i, imageID: j, state: " +
				"{terminated: {signal: 9, exitCode: 1}}}]}", "x|0/1|Init:Signal:9|0|60m|<none>|<none>|<none>|<none>"},
		{"failed with a code",
			"status: {phase: Pending, initContainerStatuses: [{name: k, image: i, imageID: j, state: " +
				"{terminated: {exitCode: 1}}}]}", "x|0/1|Init:ExitCode:1|0|60m|<none>|<none>|<none>|<none>"},
		{"crashing",
			"status: {phase: Pending, initContainerStatuses: [{name: k, image: i, imageID: j, state: " +
				"{waiting: {reason: CrashLoopBackOff}}}]}",
			"x|0/1|Init:CrashLoopBackOff|0|60m|<none>|<none>|<none>|<none>"},
		{"restarts of the past",
			"status: {phase: Running, initContainerStatuses: [{name: k, image: i, imageID: j, " +
				"restartCount: 2, state: {terminated: {exitCode: 0}}}, {name: l, image: i, imageID: j, " +
				"state: {terminated: {exitCode: 0}}}], containerStatuses: [{name: c, image: i, imageID: j, " +
				"ready: true, state: {running: {}}}]}", "x|1/1|Running|0|60m|<none>|<none>|<none>|<none>"},
	})
}

// TestPodStatesOfSidecars checks that sidecars count as containers.
func TestPodStatesOfSidecars(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.initContainers: [{name: k, image: 'i:1', restartPolicy: Always}, {name: l, image: 'i:1'}]")
	k.Columns("Name|Ready|Status|Restarts|Age|(IP)|(Node)|(Nominated Node)|(Readiness Gates)", kindtest.Cases{
		{"started",
			"status: {phase: Pending, initContainerStatuses: [{name: k, image: i, imageID: j, started: " +
				"true, ready: true, state: {running: {}}}, {name: l, image: i, imageID: j, state: {running: {}}}]}",
			"x|1/2|Init:1/2|0|60m|<none>|<none>|<none>|<none>"},
		{"not started",
			"status: {phase: Pending, initContainerStatuses: [{name: k, image: i, imageID: j, started: " +
				"false, state: {running: {}}}]}", "x|0/2|Init:0/2|0|60m|<none>|<none>|<none>|<none>"},
		{"restarts of both",
			"status: {phase: Running, initContainerStatuses: [{name: k, image: i, imageID: j, started: " +
				"true, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: " +
				`{exitCode: 1, finishedAt: "2026-05-04T11:50:00Z"}}}, {name: l, image: i, imageID: j, ` +
				"restartCount: 9, state: {terminated: {exitCode: 0}}}], containerStatuses: [{name: c, image: " +
				"i, imageID: j, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: " +
				`{exitCode: 1, finishedAt: "2026-05-04T11:40:00Z"}}}]}`,
			"x|2/2|Running|2 (10m ago)|60m|<none>|<none>|<none>|<none>"},
		{"crash of an initialized pod",
			`status: {phase: Running, conditions: [{type: Initialized, status: "True"}], ` +
				"initContainerStatuses: [{name: k, image: i, imageID: j, started: false, state: {waiting: " +
				"{reason: CrashLoopBackOff}}}], containerStatuses: [{name: c, image: i, imageID: j, ready: " +
				"true, state: {running: {}}}]}", "x|1/2|Init:CrashLoopBackOff|0|60m|<none>|<none>|<none>|<none>"},
	})
}

// TestDeletedPodStates checks the states of pods that end.
func TestDeletedPodStates(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		`metadata.deletionTimestamp: "2026-05-04T11:59:00Z"`)
	k.Columns("Name|Ready|Status|Restarts|Age|(IP)|(Node)|(Nominated Node)|(Readiness Gates)", kindtest.Cases{
		{"terminating", "status: {phase: Running}", "x|0/1|Terminating|0|60m|<none>|<none>|<none>|<none>"},
		{"node lost", "status: {phase: Running, reason: NodeLost}",
			"x|0/1|Unknown|0|60m|<none>|<none>|<none>|<none>"},
		{"ended before", "status: {phase: Succeeded}", "x|0/1|Succeeded|0|60m|<none>|<none>|<none>|<none>"},
		{"failed before", "status: {phase: Failed}", "x|0/1|Failed|0|60m|<none>|<none>|<none>|<none>"},
	})
}

// TestWidePods checks the columns of kubectl get -o wide.
func TestWidePods(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.readinessGates: [{conditionType: a}, {conditionType: b}, {conditionType: d}]; spec.nodeName: node")
	k.Columns("Name|Ready|Status|Restarts|Age|(IP)|(Node)|(Nominated Node)|(Readiness Gates)", kindtest.Cases{
		{"conditions of gates",
			`status: {phase: Running, conditions: [{type: a, status: "True"}, {type: b, status: "False"}]}`,
			"x|0/1|Running|0|60m|<none>|node|<none>|1/3"},
		{"two addresses", `status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}]}`,
			"x|0/1|Running|0|60m|10.0.0.1|node|<none>|0/3"},
	})
}
