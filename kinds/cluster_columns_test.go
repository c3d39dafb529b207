package kinds

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/coordination"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
	"github.com/miniapiserver/miniapiserver/kinds/node"
	"github.com/miniapiserver/miniapiserver/kinds/policy"
	"github.com/miniapiserver/miniapiserver/kinds/scheduling"
	"github.com/miniapiserver/miniapiserver/kinds/storage"
)

func TestNodeCells(t *testing.T) {
	const info = "nodeInfo: {kubeletVersion: v1.36.0, osImage: OS, kernelVersion: '6.1', architecture: arm64, containerRuntimeVersion: containerd://2}"
	testCells(t, core.Node(features.Default()), []cellsTest{
		{"unknown", testMeta, "a|Unknown|<none>|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
		{"ready", "metadata: {name: a, creationTimestamp: 2026-05-04T11:00:00Z, labels: {node-role.kubernetes.io/worker: '', node-role.kubernetes.io/: '', " +
			"node-role.kubernetes.io/control-plane: '', kubernetes.io/role: worker}}\n" +
			"status: {conditions: [{type: DiskPressure, status: 'True'}, {type: Ready, status: 'True'}], " + info +
			", addresses: [{type: Hostname, address: h}, {type: ExternalIP, address: 1.2.3.4}, {type: InternalIP, address: 10.0.0.1}, {type: InternalIP, address: 'fd00::1'}]}",
			"a|Ready|control-plane,worker|60m|v1.36.0|10.0.0.1|1.2.3.4|OS|6.1 (arm64)|containerd://2"},
		{"cordoned", testMeta + "spec: {unschedulable: true}\nstatus: {conditions: [{type: Ready, status: Unknown}]}",
			"a|NotReady,SchedulingDisabled|<none>|60m||<none>|<none>|<unknown>|<unknown>|<unknown>"},
	})
	testCells(t, coordination.Lease(), []cellsTest{
		{"held", testMeta + "spec: {holderIdentity: me}", "a|me|60m"}, {"free", testMeta, "a||60m"},
	})
}

func TestVolumeCells(t *testing.T) {
	const gone = "metadata: {name: a, creationTimestamp: 2026-05-04T11:00:00Z, deletionTimestamp: 2026-05-04T11:00:00Z, annotations: {volume.beta.kubernetes.io/storage-class: old}}\n"
	testCells(t, core.PersistentVolume(features.Default(), nil), []cellsTest{
		{"empty", testMeta, "a|0||||||<unset>||60m|<unset>"},
		{"bound", testMeta + "spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteMany, ReadWriteOnce, ReadWriteOnce, ReadWriteOncePod, ReadOnlyMany], " +
			"persistentVolumeReclaimPolicy: Retain, claimRef: {namespace: ns, name: c}, storageClassName: fast, volumeAttributesClassName: gold, volumeMode: Block}\n" +
			"status: {phase: Bound, reason: Because}", "a|5Gi|RWO,ROX,RWX,RWOP|Retain|Bound|ns/c|fast|gold|Because|60m|Block"},
		{"terminating", gone + "spec: {storageClassName: new}\nstatus: {phase: Released}", "a|0|||Terminating||old|<unset>||60m|<unset>"},
	})
	testCells(t, claim.PersistentVolumeClaim(features.Default()), []cellsTest{
		{"pending", testMeta + "spec: {storageClassName: fast, resources: {requests: {storage: 1Gi}}}\nstatus: {phase: Pending}",
			"a|Pending||||fast|<unset>|60m|<unset>"},
		{"bound", testMeta + "spec: {volumeName: v, volumeMode: Filesystem, volumeAttributesClassName: gold}\nstatus: {phase: Bound, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}",
			"a|Bound|v|1Gi|RWO||gold|60m|Filesystem"},
		{"terminating", gone + "status: {phase: Lost}", "a|Terminating||||old|<unset>|60m|<unset>"},
	})
	testCells(t, storage.StorageClass(), []cellsTest{
		{"plain", testMeta + "provisioner: p", "a|p|Delete|Immediate|false|60m"},
		{"default", "metadata: {name: a, creationTimestamp: 2026-05-04T11:00:00Z, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}\n" +
			"provisioner: p\nreclaimPolicy: Retain\nvolumeBindingMode: WaitForFirstConsumer\nallowVolumeExpansion: true",
			"a (default)|p|Retain|WaitForFirstConsumer|true|60m"},
		{"not default", "metadata: {name: a, annotations: {storageclass.kubernetes.io/is-default-class: 'yes'}}", "a||Delete|Immediate|false|<unknown>"},
	})
	testCells(t, storage.VolumeAttachment(), []cellsTest{
		{"volume", testMeta + "spec: {attacher: d, nodeName: n1, source: {persistentVolumeName: v}}\nstatus: {attached: true}", "a|d|v|n1|true|60m"},
		{"inline", testMeta + "spec: {attacher: d, nodeName: n1}", "a|d||n1|false|60m"},
	})
	testCells(t, storage.VolumeAttributesClass(), []cellsTest{{"plain", testMeta + "driverName: d", "a|d|60m"}})
	testCells(t, storage.CSIDriver(features.Default()), []cellsTest{
		{"nothing said", testMeta, "a|true|false|false|<unset>|false|<none>|60m"},
		{"all said", testMeta + "spec: {attachRequired: false, podInfoOnMount: true, storageCapacity: true, requiresRepublish: true, " +
			"tokenRequests: [{audience: x}, {audience: ''}], volumeLifecycleModes: [Persistent, Ephemeral]}", "a|false|true|true|x,|true|Persistent,Ephemeral|60m"},
	})
	testCells(t, storage.CSINode(features.Default()), []cellsTest{{"one", testMeta + "spec: {drivers: [{name: d, nodeID: n1}]}", "a|1|60m"}})
}

func TestNamespaceAndQuotaCells(t *testing.T) {
	testCells(t, core.Namespace(), []cellsTest{{"active", testMeta + "status: {phase: Active}", "a|Active|60m"}})
	testCells(t, core.ResourceQuota(), []cellsTest{
		{"no status", testMeta + "spec: {hard: {pods: 5}}", "a|||60m"},
		{"both", testMeta + "status: {hard: {requests.cpu: 4, pods: 10, limits.memory: 8Gi, limits.cpu: 8, count/x: 1}, used: {pods: 3, limits.cpu: 1500m}}",
			"a|count/x: 0/1, pods: 3/10, requests.cpu: 0/4|limits.cpu: 1500m/8, limits.memory: 0/8Gi|60m"},
	})
	testCells(t, policy.PodDisruptionBudget(), []cellsTest{
		{"least", testMeta + "spec: {minAvailable: 2}\nstatus: {disruptionsAllowed: 1}", "a|2|N/A|1|60m"},
		{"most", testMeta + "spec: {maxUnavailable: 25%}", "a|N/A|25%|0|60m"},
	})
	testCells(t, scheduling.PriorityClass(), []cellsTest{
		{"full", testMeta + "value: 9\nglobalDefault: true\npreemptionPolicy: Never", "a|9|true|60m|Never"}, {"empty", testMeta, "a|0|false|60m|"},
	})
	testCells(t, node.RuntimeClass(), []cellsTest{{"full", testMeta + "handler: runc", "a|runc|60m"}})
	testCells(t, core.ConfigMap(), []cellsTest{{"data", testMeta + "data: {a: b, c: d}\nbinaryData: {e: AA==}", "a|3|60m"}})
	testCells(t, core.Secret(), []cellsTest{{"data", testMeta + "type: Opaque\ndata: {a: AA==}", "a|Opaque|1|60m"}})
}
