package kinds

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/kinds/apps"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/flowcontrol"
	"github.com/miniapiserver/miniapiserver/kinds/rbac"
)

func TestEventCells(t *testing.T) {
	const object = "metadata: {name: a}\ninvolvedObject: {kind: Pod, name: p, fieldPath: 'spec.containers{c}'}\ntype: Normal\nreason: R\nmessage: ' hello\n\n  '\n"
	testCells(t, core.Event(), []cellsTest{
		{"older", object + "firstTimestamp: 2026-05-04T11:00:00Z\nlastTimestamp: 2026-05-04T11:59:00Z\ncount: 7\nsource: {component: kubelet, host: n1}",
			"60s|Normal|R|pod/p|spec.containers{c}|kubelet, n1|hello|60m|7|a"},
		{"newer", object + "eventTime: 2026-05-04T11:00:00.000000Z\nreportingComponent: example.com/c\nreportingInstance: i",
			"60m|Normal|R|pod/p|spec.containers{c}|example.com/c, i|hello|60m|1|a"},
		{"series", object + "eventTime: 2026-05-04T11:00:00.000000Z\nseries: {count: 4, lastObservedTime: 2026-05-04T11:59:50.000000Z}",
			"10s|Normal|R|pod/p|spec.containers{c}||hello|60m|4|a"},
		{"bare", "metadata: {name: a}\ninvolvedObject: {kind: Node}", "<unknown>|||node||||<unknown>|1|a"},
	})
}

func TestBindingCells(t *testing.T) {
	const subjects = "subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: User, name: v}, {kind: ServiceAccount, namespace: n1, name: s}]\n"
	testCells(t, rbac.RoleBinding(), []cellsTest{
		{"all", testMeta + subjects + "roleRef: {kind: Role, name: r}", "a|Role/r|60m|u, v|g|n1/s"},
	})
	testCells(t, rbac.ClusterRoleBinding(), []cellsTest{
		{"all", testMeta + subjects + "roleRef: {kind: ClusterRole, name: r}", "a|ClusterRole/r|60m|u, v|g|n1/s"},
		{"nobody", testMeta + "roleRef: {kind: ClusterRole, name: r}", "a|ClusterRole/r|60m|||"},
	})
}

func TestFlowControlCells(t *testing.T) {
	testCells(t, flowcontrol.FlowSchema(), []cellsTest{
		{"new", testMeta + "spec: {priorityLevelConfiguration: {name: p}, matchingPrecedence: 5}", "a|p|5|<none>|60m|?"},
		{"dangling", testMeta + "spec: {priorityLevelConfiguration: {name: p}, matchingPrecedence: 5, distinguisherMethod: {type: ByUser}}\n" +
			"status: {conditions: [{type: Dangling, status: 'True'}]}", "a|p|5|ByUser|60m|True"},
	})
	testCells(t, flowcontrol.PriorityLevelConfiguration(), []cellsTest{
		{"exempt", testMeta + "spec: {type: Exempt, exempt: {nominalConcurrencyShares: 3}}", "a|Exempt|<none>|<none>|<none>|<none>|60m"},
		{"reject", testMeta + "spec: {type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}}",
			"a|Limited|5|<none>|<none>|<none>|60m"},
		{"queue", testMeta + "spec: {type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 8, queueLengthLimit: 50}}}}",
			"a|Limited|5|64|8|50|60m"},
	})
}

func TestControllerRevisionCells(t *testing.T) {
	owner := func(ref string) string {
		return "metadata: {name: a, creationTimestamp: 2026-05-04T11:00:00Z, ownerReferences: [{" + ref + ", name: o, uid: u}]}\nrevision: 4"
	}
	testCells(t, apps.ControllerRevision(), []cellsTest{
		{"alone", testMeta + "revision: 4", "a|<none>|4|60m"},
		{"owned, not controlled", owner("apiVersion: apps/v1, kind: DaemonSet"), "a|<none>|4|60m"},
		{"controlled", owner("apiVersion: apps/v1, kind: DaemonSet, controller: true"), "a|daemonset.apps/o|4|60m"},
		{"core", owner("apiVersion: v1, kind: Pod, controller: true"), "a|pod/o|4|60m"},
	})
}

func TestComponentStatusCells(t *testing.T) {
	testCells(t, core.ComponentStatus(), []cellsTest{
		{"unknown", "metadata: {name: a}\nconditions: [{type: Other, status: 'True'}]", "a|Unknown||"},
		{"healthy", "metadata: {name: a}\nconditions: [{type: Healthy, status: 'True', message: ok}]", "a|Healthy|ok|"},
		{"unhealthy", "metadata: {name: a}\nconditions: [{type: Healthy, status: 'False', message: m, error: e}]", "a|Unhealthy|m|e"},
	})
}
