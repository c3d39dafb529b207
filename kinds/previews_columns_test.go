package kinds

import (
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/kinds/apiserverinternal"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
	"github.com/miniapiserver/miniapiserver/kinds/coordination"
	"github.com/miniapiserver/miniapiserver/kinds/resource"
	"github.com/miniapiserver/miniapiserver/kinds/scheduling"
	"github.com/miniapiserver/miniapiserver/kinds/storagemigration"
)

func TestPreviewCells(t *testing.T) {
	testCells(t, certificates.ClusterTrustBundle(), []cellsTest{
		{"plain", testMeta, "a|<none>"}, {"of a signer", testMeta + "spec: {signerName: example.com/s}", "a|example.com/s"},
	})
	testCells(t, certificates.PodCertificateRequest(time.Now), []cellsTest{
		{"pending", testMeta + "spec: {podName: p, serviceAccountName: s, nodeName: node, signerName: example.com/s, unverifiedUserAnnotations: {a.b/c: d}}", "a|p|s|node|example.com/s|Pending|a.b/c=d"},
		{"issued", testMeta + "status: {conditions: [{type: Issued}]}", "a|||||Issued|<none>"},
	})
	testCells(t, coordination.LeaseCandidate(), []cellsTest{{"full", testMeta + "spec: {leaseName: l, binaryVersion: '1', emulationVersion: '2'}", "a|l|1|2|60m"}})
	testCells(t, resource.DeviceTaintRule(time.Now), []cellsTest{
		{"empty", testMeta, "a|||||60m"},
		{"full", testMeta + "spec: {taint: {key: k, value: v, effect: None, timeAdded: 2026-05-04T11:50:00Z}}", "a|k|v|None|10m|60m"},
	})
	testCells(t, resource.ResourcePoolStatusRequest(), []cellsTest{
		{"pending", testMeta + "spec: {driver: d}", "a|d|-|-|-|-|-|0|Pending|<none>"},
		{"failed", testMeta + "status: {poolCount: 3, conditions: [{type: Failed, status: 'True'}]}", "a||-|-|-|-|-|3|Failed|<none>"},
		{"complete", testMeta + "status: {poolCount: 2, pools: [{totalDevices: 3, availableDevices: 1, allocatedDevices: 2}, {unavailableDevices: 4, validationError: x}], " +
			"conditions: [{type: Complete, status: 'True', lastTransitionTime: 2026-05-04T11:50:00Z}]}", "a||3|1|2|4|1|2|Complete|10m"},
		{"cut", testMeta + "status: {poolCount: 2, pools: [{totalDevices: 3}], conditions: [{type: Complete, status: 'True', lastTransitionTime: 2026-05-04T11:50:00Z}]}",
			"a||3|0|0|0|0|2|Complete (1/2 pools)|10m"},
	})
	testCells(t, apiserverinternal.StorageVersion(), []cellsTest{
		{"empty", testMeta, "a|<unset>|<unset>|60m"},
		{"many", testMeta + "status: {commonEncodingVersion: v1, storageVersions: [{apiServerID: a, encodingVersion: v1}, {apiServerID: b, encodingVersion: v1}, " +
			"{apiServerID: c, encodingVersion: v1}, {apiServerID: d, encodingVersion: v1}]}", "a|v1|a=v1,b=v1,c=v1 + 1 more...|60m"},
	})
	testCells(t, storagemigration.StorageVersionMigration(), []cellsTest{
		{"new", testMeta + "spec: {resource: {resource: pods}}", "a|pods|Unknown"},
		{"running", testMeta + "spec: {resource: {group: apps, resource: deployments}}\nstatus: {conditions: [{type: Running, status: 'True'}]}", "a|deployments.apps|Running"},
	})
	testCells(t, scheduling.Workload(), []cellsTest{{"plain", testMeta, "a|60m"}})
	testCells(t, scheduling.PodGroup(), []cellsTest{
		{"basic", testMeta, "a|Basic|<none>|Pending|60m"},
		{"gang", testMeta + "spec: {schedulingPolicy: {gang: {}}, workloadRef: {workloadName: w}}\nstatus: {conditions: [{type: PodGroupInitiallyScheduled, status: 'True'}]}", "a|Gang|w|Scheduled|60m"},
		{"unschedulable", testMeta + "status: {conditions: [{type: PodGroupInitiallyScheduled, status: 'False'}]}", "a|Basic|<none>|Unschedulable|60m"},
		{"ending", testMeta + "status: {conditions: [{type: DisruptionTarget, reason: PreemptionByScheduler}, {type: PodGroupInitiallyScheduled}]}", "a|Basic|<none>|PreemptionByScheduler|60m"},
	})
}
