package kinds

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/kinds/apps"
	"github.com/miniapiserver/miniapiserver/kinds/core"
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
