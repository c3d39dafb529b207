package kinds

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

func TestPodCells(t *testing.T) {
	const one = `
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {containers: [{name: c}]}
`
	const two = `
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {containers: [{name: c}, {name: d}]}
`
	const rest = "|5m|<none>|<none>|<none>|<none>"
	testCells(t, pod.Pod(features.Default()), []cellsTest{
		{"pending", one + `status: {phase: Pending}`, "a|0/1|Pending|0" + rest},
		{"running", one + `status: {phase: Running, containerStatuses: [{name: c, ready: true, state: {running: {}}}]}`, "a|1/1|Running|0" + rest},
		{"creating", one + `status: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ContainerCreating}}}]}`,
			"a|0/1|ContainerCreating|0" + rest},
		{"waiting without a reason", one + `status: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {}}}]}`, "a|0/1|Pending|0" + rest},
		{"crashing", one + `status: {phase: Running, containerStatuses: [{name: c, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}},
			lastState: {terminated: {exitCode: 1, finishedAt: 2026-05-04T11:58:00Z}}}]}`, "a|0/1|CrashLoopBackOff|3 (2m ago)" + rest},
		{"restarted, unknown when", one + `status: {phase: Running, containerStatuses: [{name: c, restartCount: 3, ready: true, state: {running: {}}}]}`,
			"a|1/1|Running|3" + rest},
		{"completed", one + `status: {phase: Succeeded, containerStatuses: [{name: c, state: {terminated: {exitCode: 0, reason: Completed}}}]}`,
			"a|0/1|Completed|0" + rest},
		{"exit code", one + `status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 2}}}]}`, "a|0/1|ExitCode:2|0" + rest},
		{"signal", one + `status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 137, signal: 9}}}]}`,
			"a|0/1|Signal:9|0" + rest},
		{"evicted", one + `status: {phase: Failed, reason: Evicted}`, "a|0/1|Evicted|0" + rest},
		{"gated", one + `status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}`,
			"a|0/1|SchedulingGated|0" + rest},
		{"the first container has the last word", two + `status: {phase: Running, containerStatuses: [
			{name: c, state: {waiting: {reason: ErrImagePull}}}, {name: d, state: {waiting: {reason: ImagePullBackOff}}}]}`,
			"a|0/2|ErrImagePull|0" + rest},
		{"one done, one ready", two + `status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [
			{name: c, state: {terminated: {exitCode: 0, reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}`,
			"a|1/2|Running|0" + rest},
		{"one done, not ready", two + `status: {phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [
			{name: c, state: {terminated: {exitCode: 0, reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}`,
			"a|1/2|NotReady|0" + rest},
	})
}

func TestPodInitCells(t *testing.T) {
	const init = `
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {containers: [{name: c}], initContainers: [{name: i}, {name: j}]}
`
	const sidecar = `
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {containers: [{name: c}], initContainers: [{name: i, restartPolicy: Always}, {name: j}]}
`
	const rest = "|5m|<none>|<none>|<none>|<none>"
	testCells(t, pod.Pod(features.Default()), []cellsTest{
		{"first", init + `status: {phase: Pending, initContainerStatuses: [{name: i, state: {waiting: {reason: PodInitializing}}}, {name: j}]}`,
			"a|0/1|Init:0/2|0" + rest},
		{"second", init + `status: {phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 0}}}, {name: j, state: {running: {}}}]}`,
			"a|0/1|Init:1/2|0" + rest},
		{"failed", init + `status: {phase: Pending, initContainerStatuses: [{name: i, restartCount: 2, state: {terminated: {exitCode: 1, reason: Error}},
			lastState: {terminated: {finishedAt: 2026-05-04T11:59:00Z}}}]}`, "a|0/1|Init:Error|2 (60s ago)" + rest},
		{"failed with a signal", init + `status: {phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {signal: 9, exitCode: 1}}}]}`,
			"a|0/1|Init:Signal:9|0" + rest},
		{"failed with a code", init + `status: {phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 1}}}]}`,
			"a|0/1|Init:ExitCode:1|0" + rest},
		{"crashing", init + `status: {phase: Pending, initContainerStatuses: [{name: i, state: {waiting: {reason: CrashLoopBackOff}}}]}`,
			"a|0/1|Init:CrashLoopBackOff|0" + rest},
		{"done, restarts forgotten", init + `status: {phase: Running, initContainerStatuses: [{name: i, restartCount: 2, state: {terminated: {exitCode: 0}}},
			{name: j, state: {terminated: {exitCode: 0}}}], containerStatuses: [{name: c, ready: true, state: {running: {}}}]}`,
			"a|1/1|Running|0" + rest},
		{"sidecar started", sidecar + `status: {phase: Pending, initContainerStatuses: [{name: i, started: true, ready: true, state: {running: {}}},
			{name: j, state: {running: {}}}]}`, "a|1/2|Init:1/2|0" + rest},
		{"sidecar not started", sidecar + `status: {phase: Pending, initContainerStatuses: [{name: i, started: false, state: {running: {}}}]}`,
			"a|0/2|Init:0/2|0" + rest},
		{"with sidecar", sidecar + `status: {phase: Running, initContainerStatuses: [
			{name: i, started: true, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: {finishedAt: 2026-05-04T11:50:00Z}}},
			{name: j, restartCount: 9, state: {terminated: {exitCode: 0}}}],
			containerStatuses: [{name: c, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: {finishedAt: 2026-05-04T11:40:00Z}}}]}`,
			"a|2/2|Running|2 (10m ago)" + rest},
		{"sidecar restarts of an initialized pod", sidecar + `status: {phase: Running, conditions: [{type: Initialized, status: "True"}], initContainerStatuses: [
			{name: i, started: false, state: {waiting: {reason: CrashLoopBackOff}}}],
			containerStatuses: [{name: c, ready: true, state: {running: {}}}]}`, "a|1/2|Init:CrashLoopBackOff|0" + rest},
	})
}

func TestPodDeletionAndWideCells(t *testing.T) {
	const gone = "metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z, deletionTimestamp: 2026-05-04T11:59:00Z}\nspec: {containers: [{name: c}]}\n"
	const rest = "|5m|<none>|<none>|<none>|<none>"
	testCells(t, pod.Pod(features.Default()), []cellsTest{
		{"terminating", gone + `status: {phase: Running}`, "a|0/1|Terminating|0" + rest},
		{"node lost", gone + `status: {phase: Running, reason: NodeLost}`, "a|0/1|Unknown|0" + rest},
		{"ended before", gone + `status: {phase: Succeeded}`, "a|0/1|Succeeded|0" + rest},
		{"wide", `
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {nodeName: n1, containers: [{name: c}], readinessGates: [{conditionType: x}, {conditionType: "y"}, {conditionType: z}]}
status: {phase: Running, nominatedNodeName: m, podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}],
  conditions: [{type: x, status: "True"}, {type: "y", status: "False"}]}`, "a|0/1|Running|0|5m|10.0.0.1|n1|m|1/3"},
	})
}

func TestPodConditions(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]string{
		corev1.PodRunning: "", corev1.PodSucceeded: "Succeeded: The pod has completed successfully.", corev1.PodFailed: "Failed: The pod failed.",
	} {
		got := ""
		for _, c := range pod.Pod(features.Default()).Row(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}).Conditions() {
			if c.Type == metav1.RowCompleted && c.Status == metav1.ConditionTrue {
				got += c.Reason + ": " + c.Message
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", phase, got, want)
		}
	}
}

func BenchmarkPodCells(b *testing.B) {
	p := &corev1.Pod{}
	if err := yaml.Unmarshal([]byte(`
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {nodeName: n1, containers: [{name: c}, {name: d}], initContainers: [{name: i, restartPolicy: Always}]}
status: {phase: Running, podIPs: [{ip: 10.0.0.1}],
  initContainerStatuses: [{name: i, started: true, ready: true, state: {running: {}}}],
  containerStatuses: [{name: c, ready: true, state: {running: {}}}, {name: d, ready: true, restartCount: 1, state: {running: {}},
    lastState: {terminated: {finishedAt: 2026-05-04T11:50:00Z}}}]}`), p); err != nil {
		b.Fatal(err)
	}
	kind := pod.Pod(features.Default())
	b.ReportAllocs()
	for b.Loop() {
		kind.Row(p)
	}
}
