package kinds

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/kinds/apiserverinternal"
	"github.com/miniapiserver/miniapiserver/kinds/coordination"
	"github.com/miniapiserver/miniapiserver/kinds/scheduling"
	"github.com/miniapiserver/miniapiserver/kinds/storagemigration"
)

func TestPreviewCells(t *testing.T) {
	testCells(t, coordination.LeaseCandidate(), []cellsTest{{"full", testMeta + "spec: {leaseName: l, binaryVersion: '1', emulationVersion: '2'}", "a|l|1|2|60m"}})
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
