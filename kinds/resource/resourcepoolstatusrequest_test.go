package resource_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const poolRequest = `spec: {driver: d}`

func TestPoolRequestRules(t *testing.T) {
	k := kindtest.New(t, "resourcepoolstatusrequests.v1alpha3.resource.k8s.io", poolRequest, "DRAResourcePoolStatus")
	k.Create(kindtest.Rules{
		{"a driver is required", "spec.driver: a.b", `spec.driver: ""`, "spec.driver: Required value"},
		{"a driver is a subdomain", "spec.driver: a.b", "spec.driver: a_b",
			`spec.driver: Invalid value: "a_b": an RFC 1123 subdomain must consist of alphanumeric ` +
				"characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'Example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a pool is a path of subdomains", "spec.poolName: a/b", "spec.poolName: a/_",
			`spec.poolName: Invalid value: "_": segment 1: a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the limit is positive", "spec.limit: 1", "spec.limit: 0",
			"spec.limit: Invalid value: 0: must be greater than or equal to 1"},
		{"the limit is at most 1000", "spec.limit: 1000", "spec.limit: 1001",
			"spec.limit: Invalid value: 1001: must be less than or equal to 1000"},
	})
}

func TestPoolRequestUpdateRules(t *testing.T) {
	k := kindtest.New(t, "resourcepoolstatusrequests.v1alpha3.resource.k8s.io", poolRequest, "DRAResourcePoolStatus")
	k.Update(kindtest.Rules{
		{"the spec is immutable", "metadata.labels: {a: b}", "spec.limit: 5",
			"spec: Invalid value: null: field is immutable"},
	})
}

func TestPoolRequestStatusRules(t *testing.T) {
	k := kindtest.New(t, "resourcepoolstatusrequests.v1alpha3.resource.k8s.io", poolRequest, "DRAResourcePoolStatus")
	k.UpdateStatus(kindtest.Rules{
		{"the number of pools is required", "status: {poolCount: 0}", "status: {conditions: []}",
			"status.poolCount: Required value"},
		{"the number of pools is not negative", "status: {poolCount: 0}", "status: {poolCount: -1}",
			"status.poolCount: Invalid value: -1: must be greater than or equal to 0"},
		{"a condition has a reason",
			`status: {poolCount: 0, conditions: [{type: Complete, status: "True", reason: R, ` +
				`message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]}`,
			`status: {poolCount: 0, conditions: [{type: Complete, status: "True", reason: "", ` +
				`message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]}`,
			"status.conditions[0].reason: Required value"},
		{"a pool has a driver", "status: {poolCount: 1, pools: [{driver: d, poolName: p, generation: 1}]}",
			"status: {poolCount: 1, pools: [{poolName: p, generation: 1}]}",
			"status.pools[0].driver: Required value"},
		{"a pool has a name", "status: {poolCount: 1, pools: [{driver: d, poolName: p, generation: 1}]}",
			`status: {poolCount: 1, pools: [{driver: d, poolName: "", generation: 1}]}`,
			"status.pools[0].poolName: Required value"},
		{"the node of a pool is a subdomain",
			"status: {poolCount: 1, pools: [{driver: d, poolName: p, generation: 1, nodeName: a.b}]}",
			"status: {poolCount: 1, pools: [{driver: d, poolName: p, generation: 1, nodeName: a_b}]}",
			`status.pools[0].nodeName: Invalid value: "a_b": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the numbers of devices are not negative",
			"status: {poolCount: 1, pools: [{driver: d, poolName: p, generation: 1, totalDevices: 0, " +
				"availableDevices: 0, allocatedDevices: 0, unavailableDevices: 0, resourceSliceCount: 1}]}",
			"status: {poolCount: 1, pools: [{driver: d, poolName: p, generation: 1, totalDevices: " +
				"-1, availableDevices: -1, allocatedDevices: -1, unavailableDevices: -1, resourceSliceCount: -1}]}",
			"status.pools[0].resourceSliceCount: Invalid value: -1: must be greater than or equal to " +
				"1; status.pools[0].totalDevices: Invalid value: -1: must be greater than or equal to 0; " +
				"status.pools[0].allocatedDevices: Invalid value: -1: must be greater than or equal to " +
				"0; status.pools[0].availableDevices: Invalid value: -1: must be greater than or equal " +
				"to 0; status.pools[0].unavailableDevices: Invalid value: -1: must be greater than or equal to 0"},
	})
}

func TestCompletePoolRequestStatusRules(t *testing.T) {
	k := kindtest.New(t, "resourcepoolstatusrequests.v1alpha3.resource.k8s.io", poolRequest, "DRAResourcePoolStatus").With(
		"status: {poolCount: 0}")
	k.UpdateStatus(kindtest.Rules{
		{"a status is immutable once it is set", "metadata.labels: {a: b}", "status.poolCount: 1",
			`status: Invalid value: {"PoolCount":1,"Pools":null,"Conditions":null}: field is immutable`},
	})
}

func TestPoolRequestCreated(t *testing.T) {
	k := kindtest.New(t, "resourcepoolstatusrequests.v1alpha3.resource.k8s.io", poolRequest, "DRAResourcePoolStatus")
	k.Created(kindtest.Cases{
		{"the limit has a default", "", "spec.limit: 100; metadata.generation: null"},
		{"a limit of the client", "spec.limit: 5", "spec.limit: 5"},
		{"a new request has no status", "status: {poolCount: 1}", "status: null"},
	})
}

func TestPoolRequestStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "resourcepoolstatusrequests.v1alpha3.resource.k8s.io", poolRequest, "DRAResourcePoolStatus")
	k.StatusUpdated(kindtest.Cases{
		{"the status alone", "spec.limit: 5; status: {poolCount: 2}", "spec.limit: 100; status.poolCount: 2"},
	})
}

func TestPoolRequestColumns(t *testing.T) {
	k := kindtest.New(t, "resourcepoolstatusrequests.v1alpha3.resource.k8s.io", poolRequest, "DRAResourcePoolStatus")
	k.Columns("Name|Driver|Total|Available|Allocated|Unavailable|Errors|Pools|Status|Completed", kindtest.Cases{
		{"a new request", "", "x|d|-|-|-|-|-|0|Pending|<none>"},
		{"before a condition",
			"status: {poolCount: 3, pools: [{driver: d, poolName: p, generation: 1, totalDevices: 3, " +
				"availableDevices: 1, allocatedDevices: 2, unavailableDevices: 0, resourceSliceCount: 1}]}",
			"x|d|3|1|2|0|0|3|Pending|<none>"},
		{"complete",
			"status: {poolCount: 1, pools: [{driver: d, poolName: p, generation: 1, totalDevices: 3, " +
				"availableDevices: 1, allocatedDevices: 1, unavailableDevices: 1, resourceSliceCount: " +
				`1}], conditions: [{type: Complete, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]}`, "x|d|3|1|1|1|0|1|Complete|60m"},
		{"more pools than shown",
			"status: {poolCount: 9, pools: [{driver: d, poolName: p, generation: 1, totalDevices: 3, " +
				"availableDevices: 1, allocatedDevices: 2, unavailableDevices: 0, resourceSliceCount: " +
				"1}, {driver: d, poolName: q, generation: 1, validationError: e}], conditions: [{type: " +
				`Complete, status: "True", reason: R, message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]}`,
			"x|d|3|1|2|0|1|9|Complete (2/9 pools)|60m"},
		{"failed",
			`status: {poolCount: 9, conditions: [{type: Failed, status: "True", reason: R, message: ` +
				`"", lastTransitionTime: "2026-05-04T11:00:00Z"}]}`, "x|d|-|-|-|-|-|9|Failed|<none>"},
		{"not failed",
			`status: {poolCount: 9, conditions: [{type: Failed, status: "False", reason: R, message: ` +
				`"", lastTransitionTime: "2026-05-04T11:00:00Z"}]}`, "x|d|0|0|0|0|0|9|Pending|<none>"},
	})
}
